// The pages about all servers of a person: what is still to be connected, and what is connected.
import { needsPerson, type UpstreamServer } from '../catalog/upstream-server.ts';
import type { SignInLink } from '../credential/tickets.ts';
import type { Tenant } from '../identity/tenant-store.ts';
import type { Strangers } from '../limits/strangers.ts';
import { type PrincipalId, parseTenantId, type TenantId } from '../shared/id.ts';
import { type Answer, type BrowserRequest, page, redirect, refuse } from './answer.ts';
import { type ConnectedRow, connectionsPage, type MissingRow, overviewPage, type ServerRow } from './pages-overview.ts';
import { nobodyPage, signedOutPage } from './pages-person.ts';
import { isOwnForm, type People, type Person } from './people.ts';
import { placeOf } from './place.ts';
import type { Prove } from './prove.ts';
import { toRefusal } from './refusal.ts';
import { pathOf } from './target.ts';

/** What one person connected. */
export interface ConnectedServer {
  readonly server: UpstreamServer;
  /** Epoch milliseconds. */
  readonly connectedAt: number;
  /** Who they are there, where that is known. */
  readonly account: string | undefined;
  /** It is good for nothing any more; they have to sign in anew. */
  readonly isOver: boolean;
}

export interface OverviewDeps {
  readonly people: People;
  readonly prove: Prove;
  readonly findTenant: (tenantId: TenantId) => Promise<Tenant | undefined>;
  readonly listServers: (tenantId: TenantId) => Promise<readonly UpstreamServer[]>;
  /** Usable as their servers are now. By what is stored: a server that is down must not hold up the page of all. */
  readonly listCredentials: (tenantId: TenantId, principalId: PrincipalId) => Promise<readonly ConnectedServer[]>;
  /** Its use ends here at once, whatever the other side says to it (B213). */
  readonly disconnect: (server: UpstreamServer, principalId: PrincipalId) => Promise<void>;
  readonly issueTicket: (server: UpstreamServer, principalId: PrincipalId) => Promise<SignInLink>;
  readonly strangers: Pick<Strangers, 'countDeparture'>;
}

type Show = (request: BrowserRequest) => Promise<Answer>;

export interface OverviewPages {
  readonly showMissing: Show;
  readonly connect: Show;
  readonly showConnected: Show;
  readonly disconnect: Show;
  readonly signOut: Show;
}

const STALE_FORM = 'This page was open for a while, or you have signed in again. Open it once more.';

export function createOverviewPages(deps: OverviewDeps): OverviewPages {
  return {
    showMissing: (request) =>
      withPerson(deps, request, 'connect', async (person) => {
        const rows = await findMissing(deps, person);
        return page(200, overviewPage(lineOf(request, person), rows, linksOf(request)));
      }),
    connect: (request) =>
      withForm(deps, request, async ({ tenant, principals }) => {
        const server = (await listForPeople(deps, tenant.id)).find(({ id }) => id === request.field('server'));
        if (server === undefined) return refuse(404, 'There is no such server any more.');
        try {
          const { url } = await deps.issueTicket(server, principals[0]);
          return redirect(new URL(url).pathname);
        } catch (error) {
          return toRefusal(error);
        }
      }),
    showConnected: (request) =>
      withPerson(deps, request, 'connections', async (person) => {
        const rows = await listConnected(deps, person);
        return page(200, connectionsPage(lineOf(request, person), rows.map(connectedRowOf), linksOf(request)));
      }),
    disconnect: (request) =>
      withForm(deps, request, async (person) => {
        const [server, principal] = [request.field('server'), request.field('principal')];
        // Only from the person's own list, so nothing that a form says can reach another's.
        const found = (await listConnected(deps, person)).find(
          (one) => one.server.id === server && one.principalId === principal,
        );
        // Gone already is what was asked for.
        if (found !== undefined) await deps.disconnect(found.server, found.principalId);
        return redirect(request.site.path('/connections'));
      }),
    async signOut(request) {
      const person = await deps.people.find(request);
      if (!isOwnForm(request, person)) return refuse(403, STALE_FORM);
      const path = pathOf(request.site, request.field('target'));
      const gone = await deps.people.end(request);
      return path === undefined ? page(200, signedOutPage(), [gone]) : redirect(path, [gone]);
    },
  };
}

/** Of the tenant that the address names, where it names one: signed in at another is not signed in. */
async function withPerson(
  deps: OverviewDeps,
  request: BrowserRequest,
  target: 'connect' | 'connections',
  show: (person: Person) => Promise<Answer>,
): Promise<Answer> {
  const named = request.query.get('tenant');
  const person = await deps.people.find(request);
  if (person !== undefined && (named === null || person.tenant.id === named)) return show(person);
  const tenantId = named === null ? undefined : parseTenantId(named);
  const tenant = tenantId && (await deps.findTenant(tenantId));
  // The same for a tenant that is not there as for one where a link is needed.
  if (tenant === undefined || tenant.signIn.mode === 'link') return page(401, nobodyPage());
  try {
    // No link was needed to come here, and a row is written for whoever goes.
    deps.strangers.countDeparture(request.address, tenant.id);
  } catch (error) {
    return toRefusal(error);
  }
  return deps.prove(request, { tenant, target, asAnother: false, isForm: false });
}

async function withForm(
  { people }: OverviewDeps,
  request: BrowserRequest,
  work: (person: Person) => Promise<Answer>,
): Promise<Answer> {
  const person = await people.find(request);
  if (person === undefined) return page(401, nobodyPage());
  return isOwnForm(request, person) ? work(person) : refuse(403, STALE_FORM);
}

async function listForPeople({ listServers }: OverviewDeps, tenantId: TenantId): Promise<readonly UpstreamServer[]> {
  return (await listServers(tenantId)).filter((server) => server.enabled && needsPerson(server));
}

async function findMissing(deps: OverviewDeps, person: Person): Promise<readonly MissingRow[]> {
  const servers = await listForPeople(deps, person.tenant.id);
  const connected = await listConnected(deps, person);
  return servers.flatMap((server) => {
    const theirs = connected.filter((one) => one.server.id === server.id);
    if (theirs.some(({ isOver }) => !isOver)) return [];
    return [{ ...rowOf(server), hasEnded: theirs.length > 0 }];
  });
}

type Connected = ConnectedServer & { readonly principalId: PrincipalId };

async function listConnected(deps: OverviewDeps, { tenant, principals }: Person): Promise<readonly Connected[]> {
  const lists = await Promise.all(
    principals.map(async (principalId) =>
      (await deps.listCredentials(tenant.id, principalId)).map((one) => ({ ...one, principalId })),
    ),
  );
  return lists.flat();
}

function rowOf(server: UpstreamServer): ServerRow {
  return { id: server.id, title: server.title ?? server.name, name: server.name, place: placeOf(server) };
}

function connectedRowOf({ server, connectedAt, account, isOver, principalId }: Connected): ConnectedRow {
  return { ...rowOf(server), principal: principalId, connectedAt, account, hasEnded: isOver };
}

function lineOf({ site }: BrowserRequest, { tenant, principals, csrf }: Person) {
  return { principal: principals[0], tenant: tenant.name, csrf, signOut: site.path('/connect/sign-out') };
}

function linksOf({ site }: BrowserRequest) {
  return { overview: site.path('/connect'), connections: site.path('/connections') };
}
