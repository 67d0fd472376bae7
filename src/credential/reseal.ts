// Seals a tenant's rows anew under its current key: page by page, each row over what was read of it and nothing else.
// A row that cannot be opened is left as it is, counted, and holds up no other.
import { resealDefinition } from '../catalog/sealed-definition.ts';
import { ProxyError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { isKeyUnknown } from './key-provider.ts';
import { resealSignIn } from './reseal-sign-in.ts';
import type { SealedRowsStore, SealedTable } from './rotation-store.ts';
import {
  attemptContext,
  clientContext,
  credentialContext,
  definitionContext,
  type SealContext,
} from './seal-context.ts';
import { prefixOf } from './sealed-form.ts';
import type { Vault } from './vault.ts';

export interface Resealed {
  readonly resealed: number;
  /** Left as they are: changed by somebody, or of a key that is not here. */
  readonly failed: number;
}

export interface ResealDeps {
  readonly rows: SealedRowsStore;
  readonly vault: Pick<Vault, 'reseal'>;
  readonly logger: Logger;
}

const ROWS_AT_ONCE = 50;

/** `signal` ends it between two rows. Rejects when the database or the keeper of the master keys is away. */
export async function resealTenant(
  { rows, vault, logger }: ResealDeps,
  tenantId: TenantId,
  currentId: string,
  signal: AbortSignal,
): Promise<Resealed> {
  const fresh = prefixOf(currentId);
  let [resealed, failed] = [0, 0];

  const one = async (kind: string, work: () => Promise<boolean>): Promise<void> => {
    signal.throwIfAborted();
    try {
      if (await work()) resealed += 1;
    } catch (error) {
      if (!isOfTheRow(error)) throw error;
      failed += 1;
      logger.warn({ tenantId, kind, error: describeError(error) }, 'something sealed could not be sealed anew');
    }
  };

  const table = async <Row extends { readonly sealed: Buffer }>(
    rowsOf: SealedTable<Row>,
    contextOf: (row: Row) => SealContext,
  ): Promise<void> => {
    let after: Row | undefined;
    do {
      const page = await rowsOf.list(tenantId, fresh, after, ROWS_AT_ONCE);
      for (const row of page) {
        const context = contextOf(row);
        await one(context.purpose, async () => {
          const sealed = await vault.reseal(tenantId, context, row.sealed);
          return sealed !== undefined && (await rowsOf.replace(tenantId, row, sealed));
        });
      }
      after = page.length < ROWS_AT_ONCE ? undefined : page.at(-1);
    } while (after !== undefined);
  };

  const definitions = async (): Promise<void> => {
    let after: string | undefined = '';
    do {
      const page = await rows.listDefinitions(tenantId, after, ROWS_AT_ONCE);
      for (const row of page)
        await one('definition', async () => {
          const anew = await resealDefinition(row.definition, async (path, text, destination) => {
            const context = definitionContext(row.name, destination, path);
            return (await vault.reseal(tenantId, context, Buffer.from(text, 'base64')))?.toString('base64');
          });
          return anew !== undefined && (await rows.replaceDefinition(tenantId, row, anew));
        });
      after = page.length < ROWS_AT_ONCE ? undefined : page.at(-1)?.name;
    } while (after !== undefined);
  };

  await table(rows.credentials, ({ kind, serverId, owner, binding }) =>
    credentialContext(kind, serverId, owner, binding),
  );
  await table(rows.clients, (row) => clientContext(row, row));
  await table(rows.attempts, attemptContext);
  await definitions();
  await one('sign-in', async () => {
    const signIn = await rows.findSignIn(tenantId);
    const anew = await resealSignIn(signIn, (context, sealed) => vault.reseal(tenantId, context, sealed));
    return anew !== undefined && (await rows.replaceSignIn(tenantId, signIn, anew));
  });
  return { resealed, failed };
}

/** Trying again later would not help; the others are not to wait for it. */
const isOfTheRow = (error: unknown): boolean =>
  (error instanceof ProxyError && error.code === 'internal') || isKeyUnknown(error);
