// What opening a sign-in link shows, and what sending its form does; express stays outside.
import { createHmac, randomBytes } from 'node:crypto';
import { bindingOf } from '../catalog/binding.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Owner } from '../credential/credential.ts';
import { parseSecretFor, type SecretKeeper } from '../credential/keep-secret.ts';
import type { Ticket } from '../credential/ticket-store.ts';
import type { Tickets } from '../credential/tickets.ts';
import type { Tenant } from '../identity/tenant-store.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import type { ServerId, TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { Secret } from '../shared/secret.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import { connectedPage, goneLinkPage, type KeyForm, keyFormPage, refusedPage, unavailablePage } from './pages.ts';
import { createTries, type Tries } from './tries.ts';
import { type TryKey, tryKeyInTime } from './try-key.ts';

export interface ConnectDeps {
  readonly tickets: Pick<Tickets, 'find' | 'consume'>;
  readonly findServer: (tenantId: TenantId, serverId: ServerId) => Promise<UpstreamServer | undefined>;
  readonly findTenant: (tenantId: TenantId) => Promise<Tenant | undefined>;
  readonly keeper: Pick<SecretKeeper, 'keep'>;
  readonly tryKey: TryKey;
  /** The tools just found become visible here, before the page says done. Bounds itself. */
  readonly signedIn: (server: UpstreamServer, owner: Owner) => Promise<void>;
  readonly linkSignInAllowed: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Page {
  readonly status: number;
  readonly body: string;
}

export interface ConnectPages {
  /** Changes nothing, however often it is asked for. */
  open(ticketText: string): Promise<Page>;
  submit(ticketText: string, pasted: string): Promise<Page>;
}

/** What a good link is about. */
interface Visit {
  readonly ticketText: string;
  readonly server: UpstreamServer;
  readonly owner: Owner;
  readonly form: KeyForm;
}

/** A second click comes within this time, and should read the same as the first. */
const SAME_CLICK_MS = 60_000;

const TOO_MANY: Page = {
  status: 429,
  body: refusedPage('Too many keys were tried with this link. Ask your agent for a new one in ten minutes.'),
};
const GONE: Page = { status: 410, body: goneLinkPage() };

export function createConnectPages(deps: ConnectDeps): ConnectPages {
  const { clock } = deps;
  const tries = createTries(clock);
  const sameClick = new SingleFlight<Page>();
  const finished = new Map<string, Page>();
  // Keyed, so that nothing here is a plain hash of somebody's key.
  const clickKey = randomBytes(32);

  const remember = (click: string, page: Page): Page => {
    if (page.status !== 200) return page;
    finished.set(click, page);
    clock.after(SAME_CLICK_MS, () => finished.delete(click));
    return page;
  };

  return {
    async open(ticketText) {
      const visit = await findVisit(deps, ticketText);
      return 'body' in visit ? visit : { status: 200, body: keyFormPage(visit.form, undefined) };
    },
    async submit(ticketText, pasted) {
      const click = createHmac('sha256', clickKey)
        .update(JSON.stringify([ticketText, pasted]))
        .digest('base64');
      return (
        finished.get(click) ??
        (await sameClick.run(click, async () => remember(click, await submitOnce(deps, tries, ticketText, pasted))))
      );
    },
  };
}

async function submitOnce(deps: ConnectDeps, tries: Tries, ticketText: string, pasted: string): Promise<Page> {
  const visit = await findVisit(deps, ticketText);
  if ('body' in visit) return visit;
  const { server, owner } = visit;
  const secret = readSecret(server, pasted);
  if (typeof secret === 'string') return formAgain(visit, secret);
  if (!tries.allow(ticketText)) return TOO_MANY;
  const trial = await tried(deps, visit, secret);
  if (!trial.ok) return formAgain(visit, trial.reason);
  // Used up before anything is kept: of two people with one link, one key only is stored (T4).
  if ((await deps.tickets.consume(ticketText)) === undefined) return GONE;
  await deps.keeper.keep(server, owner, secret.reveal());
  await announce(deps, visit);
  return { status: 200, body: connectedPage(visit.form.title) };
}

async function tried(
  { tryKey, clock, logger }: ConnectDeps,
  { server, owner }: Visit,
  secret: Secret,
): ReturnType<TryKey> {
  try {
    return await tryKeyInTime(tryKey, clock, server, owner, secret);
  } catch (error) {
    // Only the code: the message of a failed try may quote what was sent (T23).
    const code = error instanceof ProxyError ? error.code : 'internal';
    logger.warn({ tenantId: server.tenantId, server: server.name, code }, 'a pasted key could not be tried');
    return { ok: false, reason: 'The server could not be asked whether it takes this key. Try again.' };
  }
}

/** The key is kept by now; what else goes wrong is seen by the next list, not by the person. */
async function announce({ signedIn, logger }: ConnectDeps, { server, owner }: Visit): Promise<void> {
  try {
    await signedIn(server, owner);
  } catch (error) {
    logger.warn(
      { tenantId: server.tenantId, server: server.name, error: describeError(error) },
      'tools were not refreshed after a sign-in',
    );
  }
}

/** The message of a refusal, or the value. */
function readSecret(server: UpstreamServer, pasted: string): Secret | string {
  try {
    return parseSecretFor(server, pasted);
  } catch (error) {
    if (error instanceof ProxyError) return error.message;
    throw error;
  }
}

function formAgain(visit: Visit, problem: string): Page {
  return { status: 422, body: keyFormPage(visit.form, problem) };
}

async function findVisit(deps: ConnectDeps, ticketText: string): Promise<Visit | Page> {
  const ticket = await deps.tickets.find(ticketText);
  if (ticket === undefined) return GONE;
  const server = await deps.findServer(ticket.tenantId, ticket.serverId);
  const tenant = await deps.findTenant(ticket.tenantId);
  if (server === undefined || tenant === undefined || !isStillMeant(ticket, server)) return GONE;
  const reason = whyUnavailable(server, tenant, deps.linkSignInAllowed());
  const title = server.title ?? server.name;
  if (reason !== undefined) return { status: 403, body: unavailablePage(title, reason) };
  const owner: Owner = { kind: 'principal', principalId: ticket.principalId };
  return { ticketText, server, owner, form: formOf(ticket, server, tenant) };
}

/** A key typed into this page must go where the page says, so an edited server needs a new link (T11). */
function isStillMeant(ticket: Ticket, server: UpstreamServer): boolean {
  return (
    server.tenantId === ticket.tenantId &&
    server.enabled &&
    server.credential?.owner === 'principal' &&
    bindingOf(server) === ticket.binding
  );
}

function whyUnavailable(server: UpstreamServer, tenant: Tenant, linkAllowed: boolean): string | undefined {
  if (server.credential?.kind !== 'secret') return 'signing in at another site is not available in this version.';
  if (tenant.signIn.mode !== 'link')
    return 'the way in which people of this organisation sign in is not available in this version.';
  return linkAllowed ? undefined : 'signing in by a link alone is not allowed at this address.';
}

function formOf(ticket: Ticket, server: UpstreamServer, tenant: Tenant): KeyForm {
  const { transport, credential } = server;
  return {
    title: server.title ?? server.name,
    name: server.name,
    place: transport.kind === 'stdio' ? 'a command run by the operator' : new URL(transport.url).host,
    principal: ticket.principalId,
    tenant: tenant.name,
    label: credential?.label ?? 'API key',
    help: credential?.help,
  };
}
