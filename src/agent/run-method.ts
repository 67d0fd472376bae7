// Runs one request of an agent and answers it, whatever becomes of it.
import type { ServerResponse } from 'node:http';
import type { Caller } from '../identity/caller.ts';
import { ProxyError, SignInRequiredError } from '../shared/errors.ts';
import { LightAbort } from '../shared/light-abort.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { type RpcError, toRpcError } from './errors.ts';
import { hearingOf, logLevelOf } from './hearing.ts';
import type { Incoming } from './message.ts';
import { type Methods, statedCapabilities } from './methods.ts';
import type { Refuse } from './refuse.ts';
import type { Responder } from './responder.ts';
import type { McpRoute } from './route.ts';
import type { Session } from './sessions.ts';
import type { ElicitUrl } from './url-elicitation.ts';

export interface Run {
  readonly caller: Caller;
  readonly incoming: Incoming;
  /** Why it is not done, when the sender asks too often. */
  readonly tooMany: ProxyError | undefined;
  /** Of a legacy agent. */
  readonly session: Session | undefined;
  readonly responder: Responder;
  readonly response: ServerResponse;
  readonly route: McpRoute;
}

export interface RunMethodDeps {
  readonly methods: Methods;
  readonly refuse: Refuse;
  readonly elicitUrl: ElicitUrl;
  readonly logger: Logger;
}

/** Throws BadMessage for a method that is not there. */
export type RunMethod = (run: Run) => void;

export function createRunMethod({ methods, refuse, elicitUrl, logger }: RunMethodDeps): RunMethod {
  const fail = (error: unknown, { caller, incoming, session, responder, response, route }: Run): void => {
    if (responder.isGone) return;
    const { idText } = incoming;
    const send = (told: RpcError): void =>
      responder.send([`{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(told)}}`]);
    if (error instanceof ProxyError && error.code === 'cancelled') responder.endWithoutAnswer();
    else if (error instanceof SignInRequiredError && session?.questions !== undefined)
      send(elicitUrl(session, caller, error));
    else if (!response.headersSent) refuse(response, route, error, idText);
    else send(toRpcError(error).error);
  };

  return (run) => {
    const { caller, incoming, tooMany, session, responder, response, route } = run;
    const { idText } = incoming;
    const method = methods.find(incoming, route);
    if (tooMany !== undefined) {
      responder.send(methods.notDone(incoming, tooMany));
      return;
    }
    const controller = new LightAbort();
    if (session !== undefined) (session.inFlight ??= new Map()).set(idText, controller);
    // Nobody can hear the answer any more, so the work for it ends as well.
    response.on('close', () => {
      if (!response.writableFinished) controller.abort(new ProxyError('cancelled', 'The agent went away.'));
    });
    const logLevel = logLevelOf(incoming, session);
    const exchange = {
      caller,
      scope: { only: route.only },
      incoming,
      session,
      logLevel,
      hearing: hearingOf(responder, incoming, logLevel),
      capabilities: session?.capabilities ?? statedCapabilities(incoming.params),
      questions: responder.takesEvents ? session?.questions : undefined,
      signal: controller.signal,
      abort: (reason: Error) => controller.abort(reason),
    };
    const answer = async (): Promise<void> => {
      try {
        responder.send(await method(exchange));
      } catch (error) {
        fail(error, run);
      } finally {
        if (session?.inFlight?.get(idText) === controller) session.inFlight.delete(idText);
      }
    };
    answer().catch((error: unknown) => logger.error({ error: describeError(error) }, 'request not answered'));
  };
}
