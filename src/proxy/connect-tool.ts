// Answers `server__connect`: the sign-in link, shown as the agent can, or that the person is connected already.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { CredentialBroker } from '../credential/broker.ts';
import type { Credential } from '../credential/credential.ts';
import type { Caller } from '../identity/caller.ts';
import { ProxyError, SignInRequiredError } from '../shared/errors.ts';
import type { PrincipalId } from '../shared/id.ts';
import type { Asking, AskSignIn } from './ask-sign-in.ts';
import type { Answer, Call } from './operations.ts';
import { isOurState } from './request-state.ts';
import type { AskForCredential } from './with-upstream.ts';

export type ConnectTool = (caller: Caller, server: UpstreamServer, call: Call, signal: AbortSignal) => Promise<Answer>;

export interface ConnectToolDeps {
  readonly broker: Pick<CredentialBroker, 'look' | 'refusalOf'>;
  readonly askForCredential: AskForCredential;
  readonly askSignIn: AskSignIn;
}

export function createConnectTool({ broker, askForCredential, askSignIn }: ConnectToolDeps): ConnectTool {
  /** What cannot be renewed now may never be again, and connecting anew was asked for by name (B166). */
  const lookOrNot = async (
    server: UpstreamServer,
    principalId: PrincipalId,
    signal: AbortSignal,
  ): Promise<Credential | undefined> => {
    try {
      return await broker.look(server, principalId, signal);
    } catch (error) {
      if (error instanceof ProxyError && error.code === 'upstream_unavailable') return undefined;
      throw error;
    }
  };

  return async (caller, server, call, signal) => {
    const asking: Asking = { caller, server, call, tool: undefined, waits: wantsToWait(call) ? 'always' : 'never' };
    const state = call.params['requestState'];
    if (isOurState(state)) {
      const resumed = await askSignIn.resume(asking, state, signal);
      return resumed.kind === 'signed_in' ? connected(server) : linkTo(asking, resumed.link, resumed.kind);
    }
    const known = await lookOrNot(server, caller.principalId, signal);
    const error = known && broker.refusalOf(server, known);
    if (known !== undefined && error === undefined) return connected(server);
    const refused = known === undefined || error === undefined ? undefined : { error, credential: known };
    const link = await askForCredential(server, caller.principalId, refused, undefined);
    if (!(link instanceof SignInRequiredError)) throw link;
    const asked = await askSignIn.ask(asking, link, signal);
    if (asked.kind === 'input_required') return { kind: 'result', result: asked.result };
    return asked.kind === 'signed_in' ? connected(server) : linkTo(asking, link, asked.kind);
  };
}

function wantsToWait({ params }: Call): boolean {
  const args = params['arguments'];
  return typeof args === 'object' && args !== null && (args as { wait?: unknown }).wait === true;
}

function connected(server: UpstreamServer): Answer {
  return {
    kind: 'result',
    result: {
      content: [{ type: 'text', text: `${server.title ?? server.name} is connected. Its tools can be used.` }],
      structuredContent: { status: 'connected', server: server.name },
    },
  };
}

function linkTo({ server, waits }: Asking, link: ProxyError, why: 'denied' | 'not_yet'): Answer {
  if (!(link instanceof SignInRequiredError)) throw link;
  const { url, expiresAt } = link;
  const title = server.title ?? server.name;
  const until = new Date(expiresAt).toISOString();
  const shown = `${url} (valid until ${until})`;
  const inVain = waits === 'always' ? `The wait is over, and nobody has signed in to ${title}. ` : '';
  const text =
    why === 'denied'
      ? `The person declined to sign in to ${title}. Should they change their mind, they can open ${shown}`
      : `${inVain}Ask the person to open this link to connect ${title}: ${shown}`;
  return {
    kind: 'result',
    result: {
      content: [{ type: 'text', text }],
      structuredContent: { status: 'sign_in_required', server: server.name, url, expiresAt: until },
    },
  };
}
