// Reads definitions the way a test wants to look at them: as a server, or as its problems.
import { type DefinitionInput, parseDefinition } from '../../src/catalog/definition.ts';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import type { ServerId, TenantId } from '../../src/shared/id.ts';

export type Rest = Partial<Omit<DefinitionInput, 'definition'>>;

export const FILE: Rest = { source: 'file' };
export const URL_ONLY = { url: 'https://a.test/mcp' };
export const COMMAND = { command: 'npx' };
export const SECRET = { kind: 'secret' };

export function parse(definition: unknown, rest: Rest = {}) {
  return parseDefinition({
    tenantId: 'acme' as TenantId,
    id: 's1' as ServerId,
    name: 'linear',
    revision: '7',
    enabled: true,
    source: 'table',
    ...rest,
    definition,
  });
}

export function serverOf(definition: unknown, rest: Rest = {}): UpstreamServer {
  const result = parse(definition, rest);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.server;
}

export function problemsOf(definition: unknown, rest: Rest = {}): Readonly<Record<string, string>> {
  const result = parse(definition, rest);
  return result.ok ? {} : Object.fromEntries(result.problems.map(({ path, message }) => [path, message]));
}

/** Every path with a problem; a path that is named twice shows up twice. */
export function pathsOf(definition: unknown, rest: Rest = {}): readonly string[] {
  const result = parse(definition, rest);
  return result.ok ? [] : result.problems.map(({ path }) => path);
}
