// For agents of 2025-11-25 that can show links: the error of a method that needs a sign-in first, and the
// notice on the session's stream when that is done (2025-11-25 §client/elicitation, URL elicitation required).
import type { Caller } from '../identity/caller.ts';
import type { SignInDone } from '../proxy/operations.ts';
import type { SignInRequiredError } from '../shared/errors.ts';
import { randomId } from '../shared/id.ts';
import { LightAbort } from '../shared/light-abort.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { eventOf } from '../wire/sse.ts';
import type { RpcError } from './errors.ts';
import type { Session } from './sessions.ts';

/** The error to answer with. One link has one elicitation, however often it is given to a session. */
export type ElicitUrl = (session: Session, caller: Caller, asked: SignInRequiredError) => RpcError;

const URL_ELICITATION_REQUIRED = -32042;
/** Of one session; links beyond it are given without a notice. */
const MAX_NOTICES = 50;

export function createElicitUrl(signInDone: SignInDone, logger: Logger): ElicitUrl {
  const announce = async (session: Session, caller: Caller, asked: SignInRequiredError, id: string): Promise<void> => {
    const leave = new LightAbort();
    const elicitations = (session.elicitations ??= new Map());
    elicitations.set(asked.url, { id, leave });
    try {
      if (await signInDone(caller, asked, leave.signal)) session.stream?.say(completed(id));
    } catch (error) {
      if (!leave.aborted) logger.debug({ error: describeError(error) }, 'no notice of a sign-in');
    } finally {
      elicitations.delete(asked.url);
    }
  };

  return (session, caller, asked) => {
    const known = session.elicitations?.get(asked.url);
    const id = known?.id ?? randomId(16);
    if (known === undefined && (session.elicitations?.size ?? 0) < MAX_NOTICES)
      void announce(session, caller, asked, id);
    const { url, message } = asked;
    return {
      code: URL_ELICITATION_REQUIRED,
      message,
      data: {
        error: asked.code,
        ...asked.data,
        elicitations: [{ mode: 'url', elicitationId: id, url, message }],
      },
    };
  };
}

const completed = (id: string): string =>
  eventOf(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"${id}"}}`);
