// A sign-in at another site: the page that says what is asked for, and the way there.
import type { SignInFlows } from '../credential/sign-in-flows.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { type Answer, page, redirect, refuse } from './answer.ts';
import { attemptCookie } from './attempt-cookie.ts';
import type { Cookie } from './cookies.ts';
import { siteAddress } from './going-on.ts';
import { inTime } from './in-time.ts';
import { makeKeepsake } from './keepsake.ts';
import { consentPage } from './pages-consent.ts';
import { unavailablePage } from './pages-outcome.ts';
import { placeOf } from './place.ts';
import { toRefusal } from './refusal.ts';
import { createTries } from './tries.ts';
import type { Visit } from './visit.ts';

const MAX_ATTEMPTS = 10;

const CHANGED = 'What this server asks for has changed since this page was opened. Read it once more, and then go on.';

export interface ConnectOAuthDeps {
  readonly flows: Pick<SignInFlows, 'preview' | 'begin'>;
  readonly clock: Clock;
}

export interface ConnectOAuth {
  /** Sends nothing to where the person will sign in. */
  form(visit: Visit, status: number, problem: string | undefined): Promise<Answer>;
  /**
   * `shown` is what the page gave its form to bring back. `session` gives the cookie of a session that has
   * to be there when the browser comes back.
   */
  begin(visit: Visit, shown: string, session: () => Promise<Cookie | undefined>): Promise<Answer>;
}

export function createConnectOAuth({ flows, clock }: ConnectOAuthDeps): ConnectOAuth {
  const attempts = createTries(clock, MAX_ATTEMPTS);
  const form: ConnectOAuth['form'] = async ({ ticket, server, title, account }, status, problem) => {
    try {
      const { authorizationOrigin, ...asked } = await inTime(clock, (signal) => flows.preview(ticket, server, signal));
      const about = { title, name: server.name, place: placeOf(server) };
      const shown = { ...about, authorizationHost: new URL(authorizationOrigin).host, ...asked };
      return { ...page(status, consentPage(shown, account, problem)), formLeadsTo: authorizationOrigin };
    } catch (error) {
      return notNow(title, error);
    }
  };
  return {
    form,
    async begin(visit, shown, session) {
      const { ticket, ticketText, server, title } = visit;
      if (!attempts.allow(ticketText))
        return refuse(429, 'This link was used to sign in too often. Ask your agent for a new one in ten minutes.');
      try {
        // The link stays good until a sign-in has ended well, so the browser takes it along.
        const { text, hash } = makeKeepsake(ticketText);
        // A browser always sends the field back, and no other site can post here: who leaves it out is a
        // program that has read no page, and is not helped by reading it again.
        const agreed = shown === '' ? undefined : shown;
        const begun = await inTime(clock, (signal) => flows.begin(ticket, server, hash, signal, agreed));
        if (begun.kind === 'changed') return await form(visit, 409, CHANGED);
        const own = await session();
        return redirect(siteAddress(begun.url).href, [
          attemptCookie(begun.id, text),
          ...(own === undefined ? [] : [own]),
        ]);
      } catch (error) {
        return notNow(title, error);
      }
    },
  };
}

/** How the server is set up is for its administrator; a site that is down is for later. */
function notNow(title: string, error: unknown): Answer {
  if (error instanceof ProxyError && (error.code === 'upstream_protocol' || error.code === 'invalid_request'))
    return page(502, unavailablePage(title, error.message));
  return toRefusal(error);
}
