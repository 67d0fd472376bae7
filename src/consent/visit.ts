// What a sign-in link is about, and whether the person in front of it may go on.
import { bindingOf } from '../catalog/binding.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Ticket } from '../credential/ticket-store.ts';
import type { Tickets } from '../credential/tickets.ts';
import type { Tenant } from '../identity/tenant-store.ts';
import type { TicketMismatchStore } from '../identity/ticket-mismatch-store.ts';
import type { Clock } from '../shared/clock.ts';
import type { ServerId, TenantId } from '../shared/id.ts';
import type { Logger } from '../shared/logger.ts';
import { type Answer, type BrowserRequest, page, refuse } from './answer.ts';
import { goneLinkPage, unavailablePage } from './pages-outcome.ts';
import { type Account, wrongAccountPage } from './pages-person.ts';
import type { People, Person } from './people.ts';
import type { Prove } from './prove.ts';
import { standingOf } from './standing.ts';
import { targetOf } from './target.ts';
import { createTries } from './tries.ts';

/** The wrong person this often, and the link is used up. */
const MAX_MISMATCHES = 3;
/** Somebody who is sent to be proved this often with one link has a browser that keeps no cookies. */
const MAX_DEPARTURES = 20;

export interface VisitDeps {
  readonly tickets: Pick<Tickets, 'find' | 'consume'>;
  readonly findServer: (tenantId: TenantId, serverId: ServerId) => Promise<UpstreamServer | undefined>;
  readonly findTenant: (tenantId: TenantId) => Promise<Tenant | undefined>;
  readonly mismatches: TicketMismatchStore;
  readonly people: People;
  readonly prove: Prove;
  readonly linkSignInAllowed: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A good link in front of the right person. */
export interface Visit {
  readonly kind: 'visit';
  readonly ticketText: string;
  readonly ticket: Ticket;
  readonly server: UpstreamServer;
  readonly title: string;
  readonly tenant: Tenant;
  /** Undefined while the link alone is the proof. */
  readonly person: Person | undefined;
  readonly account: Account;
}

export type FindVisit = (
  request: BrowserRequest,
  ticketText: string,
  how: { readonly isForm: boolean },
) => Promise<Visit | Answer>;

export const GONE = page(410, goneLinkPage());

export function createFindVisit(deps: VisitDeps): FindVisit {
  const departures = createTries(deps.clock, MAX_DEPARTURES);
  return async (request, ticketText, { isForm }) => {
    const ticket = await deps.tickets.find(ticketText);
    if (ticket === undefined) return GONE;
    const server = await deps.findServer(ticket.tenantId, ticket.serverId);
    const tenant = await deps.findTenant(ticket.tenantId);
    if (server === undefined || tenant === undefined || !isStillMeant(ticket, server)) return GONE;
    const title = server.title ?? server.name;
    const target = targetOf(ticketText);
    const asAnother = request.query.get('as') === 'another' && tenant.signIn.mode !== 'link';
    const standing = standingOf(ticket, tenant, await deps.people.find(request), deps.linkSignInAllowed());
    if (standing.kind === 'refused') return page(403, unavailablePage(title, standing.reason));
    if (standing.kind === 'unknown' || asAnother) {
      if (!departures.allow(ticketText))
        return refuse(429, 'This link was used to sign in too often. Ask your agent for a new one in ten minutes.');
      return deps.prove(request, { tenant, target, asAnother, isForm });
    }
    const switchTo = tenant.signIn.mode === 'link' ? undefined : `${request.site.path(`/${target}`)}?as=another`;
    if (standing.kind === 'wrong') {
      await countMismatch(deps, ticket, ticketText, server);
      return page(403, wrongAccountPage(strangerOf(request, standing.person, target, switchTo)));
    }
    const { person } = standing;
    const account = {
      principal: ticket.principalId,
      tenant: tenant.name,
      csrf: person?.csrf,
      isByLinkAlone: tenant.signIn.mode === 'link',
      switchTo,
    };
    return { kind: 'visit', ticketText, ticket, server, title, tenant, person, account };
  };
}

/** What a person agrees to must go where the page says, so an edited server needs a new link (T11). */
function isStillMeant(ticket: Ticket, server: UpstreamServer): boolean {
  return (
    server.tenantId === ticket.tenantId &&
    server.enabled &&
    server.credential?.owner === 'principal' &&
    bindingOf(server) === ticket.binding
  );
}

async function countMismatch(
  { mismatches, tickets, logger }: VisitDeps,
  { tenantId, hash }: Ticket,
  ticketText: string,
  server: UpstreamServer,
): Promise<void> {
  logger.warn({ tenantId, server: server.name }, 'a sign-in link was opened by somebody it was not made for');
  if ((await mismatches.count(tenantId, hash)) >= MAX_MISMATCHES) await tickets.consume(ticketText);
}

function strangerOf({ site }: BrowserRequest, person: Person, target: string, switchTo: string | undefined) {
  return {
    principal: person.principals[0],
    csrf: person.csrf,
    signOut: site.path('/connect/sign-out'),
    target,
    switchTo,
  };
}
