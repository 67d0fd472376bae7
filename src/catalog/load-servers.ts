// Reads a tenant's servers: rows of the table, whoever wrote them, and the operator's file. A row that
// does not hold becomes an InvalidServer; literal secrets written by hand are sealed where they stand.
import { createHash } from 'node:crypto';
import { ProxyError } from '../shared/errors.ts';
import type { ServerId, TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { type DefinitionInput, parseDefinition, readGated } from './definition.ts';
import type { OperatorFile } from './operator-file.ts';
import { isInvalid, type LoadedServer, type LoadServers } from './registry.ts';
import { hasLiteralSecrets, type Open, openDefinition, type Seal, sealLiterals } from './sealed-definition.ts';
import type { ServerRow, ServerStore } from './server-store.ts';
import type { InvalidServer } from './upstream-server.ts';

export interface LoadServersDeps {
  readonly store: Pick<ServerStore, 'list' | 'replaceDefinition'>;
  readonly secretsOf: (tenantId: TenantId, serverName: string) => { readonly seal: Seal; readonly open: Open };
  /** What the tenant gates where a server does not say. */
  readonly gatedDefault: (tenantId: TenantId) => Promise<unknown>;
  /** The operator's file as last read well. */
  readonly file: () => OperatorFile | undefined;
  readonly defaults: Pick<DefinitionInput, 'defaultIdleTimeoutMs' | 'addressRule'>;
  readonly logger: Logger;
}

export function createLoadServers({
  store,
  secretsOf,
  gatedDefault,
  file,
  defaults,
  logger,
}: LoadServersDeps): LoadServers {
  /** The row's notice brings the sealed definition back here; until then the literal one serves. */
  const sealByHand = async (row: ServerRow): Promise<void> => {
    if (!hasLiteralSecrets(row.definition)) return;
    try {
      await store.replaceDefinition(row, await sealLiterals(row.definition, secretsOf(row.tenantId, row.name).seal));
    } catch (error) {
      logger.warn(
        { tenantId: row.tenantId, server: row.name, error: describeError(error) },
        'secrets of a row written by hand not sealed',
      );
    }
  };

  const said = new Map<string, string>();
  const sayInvalid = ({ tenantId, id, name, revision, problems }: InvalidServer): void => {
    if (said.get(id) === revision) return;
    said.set(id, revision);
    logger.warn({ tenantId, server: name, problems }, 'the definition of a server does not hold');
  };

  const fromRow = async (row: ServerRow): Promise<LoadedServer> => {
    await sealByHand(row);
    const input = {
      tenantId: row.tenantId,
      id: row.id,
      name: row.name,
      revision: row.revision,
      enabled: row.enabled,
      source: 'table' as const,
    };
    try {
      const definition = await openDefinition(row.definition, secretsOf(row.tenantId, row.name).open);
      return {
        server: toServer({ ...defaults, ...input, definition }),
        source: 'table',
        enabled: row.enabled,
        definition: row.definition,
      };
    } catch (error) {
      // Says nothing about the definition: what was read before stays, and the next look tries again.
      if (isForNow(error)) throw error;
      logger.warn({ tenantId: row.tenantId, server: row.name, error: describeError(error) }, 'definition not opened');
      const problems = [{ path: '$', message: whyNotOpened(error) }];
      return { server: { ...input, problems }, source: 'table', enabled: row.enabled, definition: row.definition };
    }
  };

  return async (tenantId) => {
    const gated = await gatedDefault(tenantId);
    const own = file();
    const fromFile =
      own?.tenant === tenantId
        ? own.servers.map(({ name, definition }) => readFileServer(tenantId, name, definition, defaults))
        : [];
    const taken = new Set(fromFile.map(({ server }) => server.name));
    const rows = await Promise.all((await store.list(tenantId)).map(fromRow));
    // The file is the operator's word: a row of the same name stands behind it.
    // Each reading says it once: at the start, and after a change.
    for (const { server } of [...fromFile, ...rows]) if (isInvalid(server)) sayInvalid(server);
    return [...fromFile, ...rows.filter(({ server }) => !taken.has(server.name))].map((loaded) =>
      withDefault(loaded, gated),
    );
  };
}

/** Its id follows from tenant and name, its revision from what it says: every node reads the same. */
function readFileServer(
  tenantId: TenantId,
  name: string,
  definition: unknown,
  defaults: LoadServersDeps['defaults'],
): LoadedServer {
  const id = `file-${digest([tenantId, name])}` as ServerId;
  const server = toServer({
    ...defaults,
    tenantId,
    id,
    name,
    revision: digest(definition),
    enabled: true,
    source: 'file',
    definition,
  });
  return { server, source: 'file', enabled: !('enabled' in server) || server.enabled, definition };
}

function toServer(input: DefinitionInput): LoadedServer['server'] {
  const result = parseDefinition(input);
  return result.ok
    ? result.server
    : { tenantId: input.tenantId, id: input.id, name: input.name, revision: input.revision, problems: result.problems };
}

/** A setting that cannot be read gates everything: it was meant to hold something back. */
function withDefault(loaded: LoadedServer, gatedDefault: unknown): LoadedServer {
  const { server } = loaded;
  if (
    isInvalid(server) ||
    server.gated !== undefined ||
    gatedDefault === undefined ||
    gatedDefault === null ||
    gatedDefault === false
  )
    return loaded;
  return { ...loaded, server: { ...server, gated: readGated(gatedDefault) ?? true } };
}

const reasonOf = (error: unknown): unknown => (error instanceof ProxyError ? error.data?.['reason'] : undefined);

const isForNow = (error: unknown): boolean =>
  error instanceof ProxyError && error.code === 'overloaded' && reasonOf(error) !== 'master_key_unknown';

function whyNotOpened(error: unknown): string {
  switch (reasonOf(error)) {
    case 'key_deleted':
      return 'The key that sealed its secrets was deleted; send the definition again, with the secrets themselves.';
    case 'master_key_unknown':
      return 'Its secrets need a master key that is not here; the operator has to give it back.';
    default:
      return 'A sealed value could not be opened; register the server again.';
  }
}

const digest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 24);
