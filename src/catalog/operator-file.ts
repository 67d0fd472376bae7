// Reads the operator's server file: JSON with comments, variables filled in, every problem named at once.
import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { parseTenantId, type TenantId } from '../shared/id.ts';
import { memberPath } from './definition-shape.ts';
import { didYouMean } from './near-miss.ts';
import type { Problem } from './upstream-server.ts';

export interface OperatorFile {
  readonly tenant: TenantId;
  /** Not yet checked; that is `parseDefinition`'s work, server by server. */
  readonly servers: readonly { readonly name: string; readonly definition: unknown }[];
}

export type OperatorFileResult =
  | { readonly ok: true; readonly file: OperatorFile }
  | { readonly ok: false; readonly problems: readonly Problem[] };

type Environment = Readonly<Record<string, string | undefined>>;

const MEMBERS = ['mcpServers', 'tenant', '$schema'];

/** Our own secrets and the database's must not travel into a child or to an upstream by a slip in the file. */
export function mayExpand(name: string): boolean {
  return !/^(?:KEYBEARER_.*|DATABASE_URL|PG[A-Z]*)$/i.test(name);
}

export function parseOperatorFile(
  text: string,
  env: Environment,
  allowed: (name: string) => boolean = mayExpand,
): OperatorFileResult {
  const problems: Problem[] = [];
  const root = parseJsonc(text, problems);
  if (root === undefined) return { ok: false, problems };
  const read = new FileReading(env, allowed, problems).read(root);
  return problems.length > 0 || read === undefined ? { ok: false, problems } : { ok: true, file: read };
}

function parseJsonc(text: string, problems: Problem[]): Node | undefined {
  const plain = text.replace(/^\ufeff/, '');
  const errors: ParseError[] = [];
  const root = parseTree(plain, errors, { allowTrailingComma: true });
  for (const { error, offset } of errors)
    problems.push({ path: '$', message: `${position(plain, offset)}: ${printParseErrorCode(error)}` });
  if (errors.length > 0) return undefined;
  if (root?.type === 'object') return root;
  problems.push({ path: '$', message: 'must be an object with "mcpServers"' });
  return undefined;
}

function position(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return `line ${String(before.length)}, column ${String((before.at(-1)?.length ?? 0) + 1)}`;
}

/** One reading of one file; holds what every step needs. */
class FileReading {
  readonly #env: Environment;
  readonly #allowed: (name: string) => boolean;
  readonly #problems: Problem[];

  constructor(env: Environment, allowed: (name: string) => boolean, problems: Problem[]) {
    this.#env = env;
    this.#allowed = allowed;
    this.#problems = problems;
  }

  read(root: Node): OperatorFile | undefined {
    const members = new Map(this.#members(root, '$'));
    for (const name of members.keys()) {
      if (!MEMBERS.includes(name)) this.#refuse(memberPath('$', name), `is not known.${didYouMean(name, MEMBERS)}`);
    }
    const tenant = this.#tenant(members.get('tenant'));
    const servers = this.#servers(members.get('mcpServers'));
    return tenant === undefined ? undefined : { tenant, servers };
  }

  #tenant(node: Node | undefined): TenantId | undefined {
    const text = node === undefined ? 'default' : this.#value(node, '$.tenant');
    const tenant = typeof text === 'string' ? parseTenantId(text) : undefined;
    if (tenant === undefined) this.#refuse('$.tenant', "must be a tenant's id");
    return tenant;
  }

  #servers(node: Node | undefined): OperatorFile['servers'] {
    if (node?.type !== 'object') {
      this.#refuse('$.mcpServers', node === undefined ? 'is needed' : 'must be an object of servers by name');
      return [];
    }
    const path = '$.mcpServers';
    return this.#members(node, path).map(([name, definition]) => ({
      name,
      definition: this.#value(definition, memberPath(path, name)),
    }));
  }

  /** A name given twice would silently win over the first; for a server that is a take-over. */
  #members(node: Node, path: string): readonly (readonly [string, Node])[] {
    const seen = new Set<string>();
    return (node.children ?? []).flatMap((property) => {
      const [key, value] = property.children ?? [];
      if (key === undefined || value === undefined) return [];
      const name = String(key.value);
      if (seen.has(name)) this.#refuse(memberPath(path, name), 'is there twice');
      seen.add(name);
      return [[name, value] as const];
    });
  }

  #value(node: Node, path: string): unknown {
    if (node.type === 'object')
      return Object.fromEntries(
        this.#members(node, path).map(([name, value]) => [name, this.#value(value, memberPath(path, name))]),
      );
    if (node.type === 'array')
      return (node.children ?? []).map((item, index) => this.#value(item, `${path}[${String(index)}]`));
    return typeof node.value === 'string' ? this.#expand(node.value, path) : node.value;
  }

  /** `${NAME}`, and `${NAME:-default}` where unset or empty as in a shell; what comes in is not expanded again. */
  #expand(text: string, path: string): string {
    return text.replaceAll(/\$\{([^}]*)\}?/g, (whole, inside: string) => {
      const [, name, fallback] = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/.exec(inside) ?? [];
      if (name === undefined || !whole.endsWith('}'))
        return this.#refuse(path, 'has "${" that is neither ${NAME} nor ${NAME:-default}');
      if (!this.#allowed(name))
        return this.#refuse(path, `may not use the variable ${name}: it belongs to the proxy itself`);
      const value = this.#env[name];
      if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
      return value ?? this.#refuse(path, `needs the variable ${name}, which is not set`);
    });
  }

  #refuse(path: string, message: string): '' {
    this.#problems.push({ path, message });
    return '';
  }
}
