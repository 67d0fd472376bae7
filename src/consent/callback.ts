// The way back from a sign-in at another site, and the page that tells how it ended.
import type { SignInAttempt, SignInEnd, SignInFlows } from '../credential/sign-in-flows.ts';
import type { Tickets } from '../credential/tickets.ts';
import { ProxyError } from '../shared/errors.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { type Answer, type BrowserRequest, page, redirect, refuse } from './answer.ts';
import { keptReason, reasonCookie, ticketOf } from './attempt-cookie.ts';
import { strangeReturn } from './away.ts';
import {
  connectedPage,
  deniedPage,
  failedPage,
  neutralEndPage,
  stillWorkingPage,
  tooLongPage,
} from './pages-outcome.ts';
import { isPerson, type People, type Person } from './people.ts';
import { targetOf } from './target.ts';

export interface CallbackDeps {
  readonly flows: Pick<SignInFlows, 'find' | 'findByState' | 'finish'>;
  readonly tickets: Pick<Tickets, 'find' | 'consume'>;
  readonly people: Pick<People, 'find'>;
  readonly logger: Logger;
}

export interface CallbackPages {
  /** Compares browser and person with the attempt first: only then is the code used (T1). */
  comeBack(request: BrowserRequest, contextId: string): Promise<Answer>;
  tell(request: BrowserRequest, id: string): Promise<Answer>;
}

const LOOK_AGAIN_S = 2;
/** How often the page looks again while the attempt is being finished. */
const MAX_LOOKS = 15;

const USED_ELSEWHERE = 'This link was used meanwhile, in another browser. Nothing was kept.';
const NO_REASON = 'The other site did not let us finish.';

export function createCallbackPages(deps: CallbackDeps): CallbackPages {
  const { flows, people } = deps;
  return {
    async comeBack(request, contextId) {
      const [state, another] = request.query.getAll('state');
      if (state === undefined || another !== undefined) return strangeReturn();
      const attempt = await flows.findByState(contextId, state);
      const ticketText = attempt && ticketOf(request, attempt);
      if (attempt === undefined || ticketText === undefined) return strangeReturn();
      const person = await people.find(request);
      if (person === undefined || !isPerson(person, attempt.tenantId, attempt.principalId))
        return refuse(400, 'You are not signed in any more as the person who began this. Nothing was changed.');
      const done = request.site.path(`/connect/done/${attempt.id}`);
      if (!(await isFirst(deps, person, ticketText, request.query))) return refuse(410, USED_ELSEWHERE);
      // Asked for twice by the same browser, one takes it, and both read how it ended (B161).
      const end = await finish(deps, attempt, request.query);
      if (end.kind === 'connected') await useUp(deps, ticketText);
      // Code and state leave the address (B164).
      const reason = end.kind === 'failed' ? end.reason : end.kind === 'connected' ? end.problem : undefined;
      return redirect(done, reason === undefined ? [] : [reasonCookie(attempt.id, reason)]);
    },
    async tell(request, id) {
      const attempt = await flows.find(id);
      const ticketText = attempt && ticketOf(request, attempt);
      if (attempt === undefined || ticketText === undefined) return page(404, neutralEndPage());
      const isLinkGood = (await deps.tickets.find(ticketText)) !== undefined;
      return endPage(request, attempt, isLinkGood ? request.site.path(`/${targetOf(ticketText)}`) : undefined);
    },
  };
}

/**
 * Where the link alone says who somebody is, two people may hold it: the first to come back uses it up, before
 * the code is exchanged (T4). The same browser may finish a second tab (B155).
 */
async function isFirst(
  { tickets }: CallbackDeps,
  { tenant, sessionHash }: Person,
  ticketText: string,
  query: URLSearchParams,
): Promise<boolean> {
  if (tenant.signIn.mode !== 'link' || query.get('code') === null) return true;
  return (await tickets.consume(ticketText, sessionHash)) !== undefined;
}

/** It is known by now that something ended; what went wrong on our side is one more way to fail. */
async function finish(
  { flows, logger }: CallbackDeps,
  attempt: SignInAttempt,
  query: URLSearchParams,
): Promise<SignInEnd> {
  try {
    return await flows.finish(attempt, query);
  } catch (error) {
    logger.error({ tenantId: attempt.tenantId, error: describeError(error) }, 'a sign-in could not be finished');
    const isSafe = error instanceof ProxyError && error.code !== 'internal';
    return { kind: 'failed', reason: isSafe ? error.message : 'Something went wrong on our side.' };
  }
}

/** The grant is kept by now; a link that stays good for some minutes harms nobody. */
async function useUp({ tickets, logger }: CallbackDeps, ticketText: string): Promise<void> {
  try {
    await tickets.consume(ticketText);
  } catch (error) {
    logger.warn({ error: describeError(error) }, 'a sign-in link was not marked as used');
  }
}

function endPage(request: BrowserRequest, attempt: SignInAttempt, again: string | undefined): Answer {
  const title = attempt.server?.title ?? attempt.server?.name ?? 'The server';
  const reason = keptReason(request, attempt.id);
  switch (attempt.state) {
    case 'connected':
      return page(200, connectedPage(title, request.site.path('/connections'), reason));
    case 'denied':
      return page(200, deniedPage(title, again));
    case 'failed':
      return page(200, failedPage(title, reason ?? NO_REASON, again));
    case 'open':
    case 'taken':
      return reason === undefined ? stillWorking(request, attempt, title) : page(200, failedPage(title, reason, again));
  }
}

function stillWorking({ site, query }: BrowserRequest, { id }: SignInAttempt, title: string): Answer {
  const looks = Number(query.get('look') ?? 0) + 1;
  // Not `looks > MAX_LOOKS`: what is no number must end it as well.
  if (!(looks <= MAX_LOOKS)) return page(200, tooLongPage());
  const onward = { url: `${site.path(`/connect/done/${id}`)}?look=${looks}`, afterS: LOOK_AGAIN_S };
  return { ...page(200, stillWorkingPage(title)), onward };
}
