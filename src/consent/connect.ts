// What opening a sign-in link shows, and what sending its form does.
import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../shared/clock.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import { type Answer, type BrowserRequest, type Page, page } from './answer.ts';
import type { ConnectKey } from './connect-key.ts';
import type { ConnectOAuth } from './connect-oauth.ts';
import type { Cookie } from './cookies.ts';
import { unavailablePage } from './pages-outcome.ts';
import { isOwnForm, type People } from './people.ts';
import type { FindVisit, Visit } from './visit.ts';

export interface ConnectDeps {
  readonly findVisit: FindVisit;
  readonly key: ConnectKey;
  readonly oauth: ConnectOAuth;
  readonly people: Pick<People, 'begin'>;
  readonly clock: Clock;
}

export interface ConnectPages {
  /** Keeps nothing and sends nothing to where a key would come from, however often it is asked for. */
  open(request: BrowserRequest, ticketText: string): Promise<Answer>;
  submit(request: BrowserRequest, ticketText: string): Promise<Answer>;
}

/** A second click comes within this time, and should read the same as the first. */
const SAME_CLICK_MS = 60_000;

/** Of a form from before a sign-in or from another session: one more click, and no dead end (B163). */
const STALE_FORM = 'This page was open for a while. Look at it once more, and then go on.';

export function createConnectPages(deps: ConnectDeps): ConnectPages {
  const { findVisit, key, oauth, people, clock } = deps;
  const sameClick = new SingleFlight<Page>();
  const finished = new Map<string, Page>();
  // Keyed, so that nothing here is a plain hash of somebody's key.
  const clickKey = randomBytes(32);
  const clickOf = (ticketText: string, pasted: string): string =>
    createHmac('sha256', clickKey)
      .update(JSON.stringify([ticketText, pasted]))
      .digest('base64');

  const remember = (click: string, answer: Page): Page => {
    if (answer.status !== 200) return answer;
    finished.set(click, answer);
    clock.after(SAME_CLICK_MS, () => finished.delete(click));
    return answer;
  };

  /** Where the link alone is the proof, its person has a session from here on; it is nobody else's to reuse. */
  const sessionOf = async (request: BrowserRequest, visit: Visit): Promise<Cookie | undefined> =>
    visit.person === undefined ? people.begin(request, visit.tenant, [visit.ticket.principalId]) : undefined;

  const submitKey = async (request: BrowserRequest, visit: Visit, pasted: string): Promise<Answer> => {
    const click = clickOf(visit.ticketText, pasted);
    let isMine = false;
    const answer = await sameClick.run(click, async () => {
      isMine = true;
      return remember(click, await key.submit(visit, pasted, request.site));
    });
    const session = isMine && answer.status === 200 ? await sessionOf(request, visit) : undefined;
    return session === undefined ? answer : { ...answer, cookies: [session] };
  };

  return {
    async open(request, ticketText) {
      const visit = await findVisit(request, ticketText, { isForm: false });
      return visit.kind === 'visit' ? formOf(deps, visit, 200, undefined) : visit;
    },
    async submit(request, ticketText) {
      const pasted = request.field('secret');
      const done = finished.get(clickOf(ticketText, pasted));
      if (done !== undefined) return done;
      const visit = await findVisit(request, ticketText, { isForm: true });
      if (visit.kind !== 'visit') return visit;
      if (!isOwnForm(request, visit.person) && !isFromBefore(request, visit))
        return formOf({ key, oauth }, visit, 403, STALE_FORM);
      switch (visit.server.credential?.kind) {
        case 'secret':
          return submitKey(request, visit, pasted);
        case 'oauth':
          return oauth.begin(visit, request.field('shown'), () => sessionOf(request, visit));
        default:
          return nobodySignsIn(visit);
      }
    },
  };
}

async function formOf(
  { key, oauth }: Pick<ConnectDeps, 'key' | 'oauth'>,
  visit: Visit,
  status: number,
  problem: string | undefined,
): Promise<Answer> {
  switch (visit.server.credential?.kind) {
    case 'secret':
      return key.form(visit, status, problem);
    case 'oauth':
      return oauth.form(visit, status, problem);
    default:
      return nobodySignsIn(visit);
  }
}

/**
 * A page from before there was a session has no token. Where the link alone says who it is, the address is one:
 * no other site knows it.
 */
function isFromBefore(request: BrowserRequest, { tenant }: Visit): boolean {
  return tenant.signIn.mode === 'link' && request.field('csrf') === '';
}

function nobodySignsIn({ title }: Visit): Page {
  return page(403, unavailablePage(title, 'nobody signs in to this server.'));
}
