// A sign-in by a pasted key: the form, the try at the server, and keeping it.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Owner } from '../credential/credential.ts';
import { parseSecretFor, type SecretKeeper } from '../credential/keep-secret.ts';
import type { Tickets } from '../credential/tickets.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { Secret } from '../shared/secret.ts';
import { type Page, page, refuse } from './answer.ts';
import { keyFormPage } from './pages-key.ts';
import { connectedPage } from './pages-outcome.ts';
import { placeOf } from './place.ts';
import type { Site } from './site.ts';
import { createTries } from './tries.ts';
import { type TryKey, tryKeyInTime } from './try-key.ts';
import { GONE, type Visit } from './visit.ts';

const MAX_TRIES = 20;

export interface ConnectKeyDeps {
  readonly tickets: Pick<Tickets, 'consume'>;
  readonly keeper: Pick<SecretKeeper, 'keep'>;
  readonly tryKey: TryKey;
  /** The tools just found become visible here, before the page says done. Bounds itself. */
  readonly signedIn: (server: UpstreamServer, owner: Owner) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface ConnectKey {
  form(visit: Visit, status: number, problem: string | undefined): Page;
  /** 200 when the key was kept. */
  submit(visit: Visit, pasted: string, site: Site): Promise<Page>;
}

export function createConnectKey(deps: ConnectKeyDeps): ConnectKey {
  const tries = createTries(deps.clock, MAX_TRIES);
  return {
    form: formPage,
    async submit(visit, pasted, site) {
      const { server, ticket, ticketText, title } = visit;
      const owner: Owner = { kind: 'principal', principalId: visit.ticket.principalId };
      const secret = readSecret(server, pasted);
      if (typeof secret === 'string') return formPage(visit, 422, secret);
      // A new link is no new start: it is the server that is asked, and the person who asks it.
      if (!tries.allow(JSON.stringify([ticket.tenantId, ticket.principalId, ticket.serverId])))
        return refuse(429, 'Too many keys were tried for this server. Try again in ten minutes.');
      const trial = await tried(deps, server, owner, secret);
      if (!trial.ok) return formPage(visit, 422, trial.reason);
      // Used up before anything is kept: of two people with one link, one key only is stored (T4).
      if ((await deps.tickets.consume(ticketText)) === undefined) return GONE;
      await deps.keeper.keep(server, owner, secret.reveal());
      await announce(deps, server, owner);
      return page(200, connectedPage(title, site.path('/connections')));
    },
  };
}

function formPage({ server, title, account }: Visit, status: number, problem: string | undefined): Page {
  const { credential, name } = server;
  const label = credential?.label ?? 'API key';
  const form = { title, name, place: placeOf(server), label, help: credential?.help };
  return page(status, keyFormPage(form, account, problem));
}

async function tried(
  { tryKey, clock, logger }: ConnectKeyDeps,
  server: UpstreamServer,
  owner: Owner,
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
async function announce({ signedIn, logger }: ConnectKeyDeps, server: UpstreamServer, owner: Owner): Promise<void> {
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
