// Writes a renewed grant: only over the version it was made from, and it is not let go while the database is
// away, because the refresh token that stands there is spent by now.
import { bindingOf } from '../catalog/binding.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Change } from '../shared/changes.ts';
import type { Clock } from '../shared/clock.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { Owner } from './credential.ts';
import { credentialKey } from './credential-store.ts';
import type { Grant } from './grant.ts';
import type { GrantKeeper } from './keep-grant.ts';
import type { KeptCredentials, Opened } from './kept-credentials.ts';
import type { Renewed } from './renewal-failure.ts';
import type { GrantKey } from './renewal-store.ts';

export interface Renewal {
  readonly server: UpstreamServer;
  readonly owner: Owner;
  readonly key: GrantKey;
  /** What it was made from; undefined where there was none yet. */
  readonly outdated: Opened | undefined;
}

export interface WriteRenewal {
  /** Gives what counts afterwards: ours, or what somebody else wrote meanwhile. */
  write(renewal: Renewal, grant: Grant): Promise<Renewed>;
  /** What was got in exchange for this version and could not be written yet: nothing else may be used or sent. */
  unsaved(key: GrantKey, version: string | undefined): Opened | undefined;
  /** Stops trying again. */
  close(): void;
}

export interface WriteRenewalDeps {
  readonly kept: Pick<KeptCredentials, 'load'>;
  readonly keeper: Pick<GrantKeeper, 'renew'>;
  /** Ends tokens that nobody will use. */
  readonly discard: (server: UpstreamServer, grant: Grant) => void;
  readonly announce: (change: Change) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PAUSES_MS = [100, 500, 2_000];
const LATER_MS = 1_000;
/** A database that is away longer than this has more to lose than one grant. */
const GIVE_UP_MS = 10 * 60_000;

/** What the change made of a version; a server that moved meanwhile gets nothing of it. */
export function newerOf(
  server: UpstreamServer,
  opened: Opened | undefined,
  outdated: Opened | undefined,
): Opened | undefined {
  const isNewer = opened !== undefined && opened.version !== outdated?.version && opened.binding === bindingOf(server);
  return isNewer ? opened : undefined;
}

export function createWriteRenewal(deps: WriteRenewalDeps): WriteRenewal {
  const { kept, keeper, discard, announce, clock, logger } = deps;
  const waiting = new Map<string, Opened>();
  const root = new AbortController();

  const nameOf = (key: GrantKey, version: string | undefined): string => `${credentialKey(key)}\u0000${version ?? ''}`;

  const once = async ({ server, owner, key, outdated }: Renewal, grant: Grant): Promise<Renewed> => {
    const binding = outdated?.binding ?? bindingOf(server);
    const written = await keeper.renew(server, owner, binding, grant, outdated?.version, clock.now());
    announce({ kind: 'credentials', ...key });
    if (written !== undefined)
      return { kind: 'renewed', opened: { version: written.version, binding, content: { kind: 'grant', grant } } };
    // Signed in anew, or removed, while we asked: that is what counts.
    const theirs = newerOf(server, (await kept.load(server, key.owner)).opened, outdated);
    if (theirs !== undefined) return { kind: 'renewed', opened: theirs };
    // Not where somebody signed in anew: many servers end all of a person's tokens with one (RFC 7009 §2.1).
    discard(server, grant);
    return { kind: 'over' };
  };

  const goOnTrying = async (renewal: Renewal, grant: Grant, name: string): Promise<void> => {
    const endsAt = clock.now() + GIVE_UP_MS;
    while (clock.now() < endsAt) {
      try {
        await clock.sleep(LATER_MS, root.signal);
        await once(renewal, grant);
        break;
      } catch (error) {
        if (root.signal.aborted) break;
        logger.warn({ tenantId: renewal.key.tenantId, error: describeError(error) }, 'renewed grant not written yet');
      }
    }
    waiting.delete(name);
  };

  return {
    async write(renewal, grant) {
      for (const pause of [...PAUSES_MS, undefined]) {
        try {
          return await once(renewal, grant);
        } catch (error) {
          logger.warn({ tenantId: renewal.key.tenantId, error: describeError(error) }, 'renewed grant not written yet');
          if (pause !== undefined) await clock.sleep(pause);
        }
      }
      const { key, outdated, server } = renewal;
      const name = nameOf(key, outdated?.version);
      const binding = outdated?.binding ?? bindingOf(server);
      // A name that no row will ever have.
      const opened: Opened = {
        version: `unsaved-${outdated?.version ?? ''}`,
        binding,
        content: { kind: 'grant', grant },
      };
      waiting.set(name, opened);
      void goOnTrying(renewal, grant, name);
      return { kind: 'renewed', opened };
    },
    unsaved: (key, version) => waiting.get(nameOf(key, version)),
    close: () => root.abort(new Error('stopping')),
  };
}
