// The path of one call: which tool, with whose key, over which connection, and what may come back.
// Read this file first.
import type { Catalog } from '../catalog/catalog.ts';
import type { Tool } from '../catalog/tool.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Lease } from '../connection/lease.ts';
import type { Caller } from '../identity/caller.ts';
import { requireOpen } from '../policy/gate.ts';
import type { Shaper } from '../result/shape.ts';
import { nextTurn } from '../shared/breathe.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError, SignInRequiredError } from '../shared/errors.ts';
import { paramHeaderValues } from '../wire/param-headers.ts';
import { askServer, named, startServerTimer } from './ask-server.ts';
import type { Asking, AskSignIn } from './ask-sign-in.ts';
import type { ConnectTool } from './connect-tool.ts';
import type { Answer, Call, CallTool } from './operations.ts';
import { isOurState } from './request-state.ts';
import type { WithUpstream } from './with-upstream.ts';

export interface CallToolDeps {
  readonly catalog: Catalog;
  readonly connect: ConnectTool;
  readonly askSignIn: AskSignIn;
  readonly withUpstream: WithUpstream;
  readonly shaper: Shaper;
  readonly clock: Clock;
}

const LARGE_BYTES = 2 * 1024 * 1024;

export function createCallTool(deps: CallToolDeps): CallTool {
  const { catalog, connect, askSignIn, withUpstream, shaper, clock } = deps;

  /** Gives the answer to go away with, or nothing when the person has signed in and the call can go on. */
  const ask = async (asking: Asking, link: SignInRequiredError, signal: AbortSignal): Promise<Answer | undefined> => {
    const asked = await askSignIn.ask(asking, link, signal);
    if (asked.kind === 'signed_in') return undefined;
    if (asked.kind === 'input_required') return { kind: 'result', result: asked.result };
    throw unconnected(asked.kind, link);
  };

  const resume = async (asking: Asking, state: string, signal: AbortSignal): Promise<Call> => {
    const resumed = await askSignIn.resume(asking, state, signal);
    if (resumed.kind === 'signed_in') return resumed.call;
    throw unconnected(resumed.kind, resumed.link);
  };

  return async (caller, arrived, signal) => {
    const found = catalog.find(caller, arrived.scope, arrived.name, signal);
    const target = found instanceof Promise ? await found : found;
    if (target === undefined)
      throw new ProxyError(
        'not_found',
        `There is no tool ${JSON.stringify(arrived.name.slice(0, 128))}; list the tools again.`,
      );
    const { server } = target;
    if (target.kind === 'connect') return connect(caller, server, arrived, signal);
    const { tool } = target;
    requireOpen(server, tool);

    const state = arrived.params['requestState'];
    let mayAsk = !isOurState(state);
    const call = isOurState(state) ? await resume(askingFor(caller, server, arrived, tool), state, signal) : arrived;
    // Twice only for a person who has signed in meanwhile, and then with all of its time again.
    for (;;) {
      let link: SignInRequiredError;
      const timer = startServerTimer(clock, server, call);
      try {
        const use = async ({ connection }: Lease): Promise<Answer> => {
          const reply = await askServer(connection, callOf(call, tool), call, timer, signal);
          // It was read with one look at all of it, and the next takes as long.
          if (reply.bytes.length > LARGE_BYTES) await nextTurn();
          return { kind: 'reply', ...shaper.shape(reply, server, connection.era, call.era) };
        };
        return await withUpstream(server, caller.principalId, signal, use, tool.name);
      } catch (error) {
        if (!(error instanceof SignInRequiredError) || !mayAsk) throw named(error, server);
        link = error;
      } finally {
        timer.end();
      }
      mayAsk = false;
      const answer = await ask(askingFor(caller, server, call, tool), link, signal);
      if (answer !== undefined) return answer;
    }
  };
}

const askingFor = (caller: Caller, server: UpstreamServer, call: Call, tool: Tool): Asking => ({
  caller,
  server,
  call,
  tool: tool.name,
  waits: 'if_asked',
});

/** The link as it is, or with what the person said about it. */
function unconnected(why: 'denied' | 'not_yet', link: ProxyError): ProxyError {
  if (why === 'not_yet' || !(link instanceof SignInRequiredError)) return link;
  return new ProxyError(
    'sign_in_required',
    `The person declined to sign in to ${link.server}. Should they change their mind, they can open ${link.url} and then try again.`,
    { data: link.data },
  );
}

function callOf(call: Call, tool: Tool): Parameters<typeof askServer>[1] {
  return {
    method: 'tools/call',
    params: { ...call.params, name: tool.name },
    name: tool.name,
    paramHeaders:
      tool.paramHeaders.length === 0 ? undefined : paramHeaderValues(tool.paramHeaders, call.params['arguments']),
  };
}
