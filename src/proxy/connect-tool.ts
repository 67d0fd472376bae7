// Answers `server__connect`: the sign-in link, or that the person is connected already.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { CredentialBroker } from '../credential/broker.ts';
import type { Caller } from '../identity/caller.ts';
import { SignInRequiredError } from '../shared/errors.ts';
import type { Answer, Call } from './operations.ts';

export type ConnectTool = (caller: Caller, server: UpstreamServer, call: Call, signal: AbortSignal) => Promise<Answer>;

/** Port: waits until the principal has a credential for the server; false when the time for that is over. */
export type WaitForSignIn = (
  caller: Caller,
  server: UpstreamServer,
  call: Call,
  url: string,
  signal: AbortSignal,
) => Promise<boolean>;

export interface ConnectToolDeps {
  readonly broker: CredentialBroker;
  readonly waitForSignIn: WaitForSignIn;
}

export function createConnectTool({ broker, waitForSignIn }: ConnectToolDeps): ConnectTool {
  return async (caller, server, call, signal) => {
    const known = await broker.look(server, caller.principalId);
    if (known !== undefined && !broker.isRefused(server, known)) return connected(server);
    const asked = await broker.askSignIn(server, caller.principalId);
    if (!(asked instanceof SignInRequiredError)) throw asked;
    const args = call.params['arguments'];
    const waits = typeof args === 'object' && args !== null && (args as { wait?: unknown }).wait === true;
    if (waits && (await waitForSignIn(caller, server, call, asked.url, signal))) return connected(server);
    return linkTo(server, asked);
  };
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

function linkTo(server: UpstreamServer, { url, expiresAt }: SignInRequiredError): Answer {
  const until = new Date(expiresAt).toISOString();
  return {
    kind: 'result',
    result: {
      content: [
        {
          type: 'text',
          text: `Ask the person to open this link to connect ${server.title ?? server.name}: ${url} (valid until ${until})`,
        },
      ],
      structuredContent: { status: 'sign_in_required', server: server.name, url, expiresAt: until },
    },
  };
}
