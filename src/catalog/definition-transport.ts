// The part of a definition that says where the server is and how it is reached.
import { isAbsolute } from 'node:path';
import { Secret } from '../shared/secret.ts';
import type { AddressRule } from './address-rule.ts';
import { argumentProblem, commandProblem, isLoopbackUrl, urlProblem } from './definition-rules.ts';
import type { Shape } from './definition-shape.ts';
import { envNameProblem, envValueProblem } from './env-name.ts';
import { headerNameProblem, headerValueProblem } from './header-name.ts';
import type { HttpTransport, StdioTransport, Transport } from './upstream-server.ts';

export type TransportKind = Transport['kind'];

/** What people's files call it → what we call it. */
const TYPES: Readonly<Record<string, TransportKind>> = {
  http: 'http',
  'streamable-http': 'http',
  streamable_http: 'http',
  streamableHttp: 'http',
  sse: 'sse',
  stdio: 'stdio',
};

const MAX_ENTRIES = 64;
const MAX_ARGUMENTS = 256;

/** Undefined, with a problem noted, when it cannot be told. A bad type is noted, then guessed, to read on. */
export function readTransportKind(root: Shape): TransportKind | undefined {
  const type = root.choice('type', Object.keys(TYPES));
  if (type !== undefined) return TYPES[type];
  if (root.has('command')) return 'stdio';
  if (root.has('url')) return 'http';
  if (root.raw('type') === undefined) root.refuse('url', 'is needed');
  return undefined;
}

export interface TransportRules {
  readonly source: 'table' | 'file';
  readonly addressRule: AddressRule | undefined;
}

export function readTransport(root: Shape, kind: TransportKind, rules: TransportRules): Transport | undefined {
  refuseForeign(root, kind, rules.source);
  return kind === 'stdio' ? readStdio(root, rules.source) : readHttp(root, kind, rules);
}

/** Empty members of the other kind are harmless left-overs of templates; filled ones are a mistake. */
function refuseForeign(root: Shape, kind: TransportKind, source: 'table' | 'file'): void {
  const foreign = kind === 'stdio' ? ['url', 'headers'] : ['command', 'args', 'env', 'cwd'];
  for (const name of foreign.filter((member) => root.has(member))) {
    const commandInTable = name === 'command' && source === 'table';
    root.refuse(name, commandInTable ? NO_COMMANDS_HERE : `does not go with a server of type "${kind}"`);
  }
}

// Whoever may write a command may run anything on this machine, so only the operator may (T29).
const NO_COMMANDS_HERE = "is refused: commands may only be registered in the operator's file (KEYBEARER_CONFIG)";

function readHttp(root: Shape, kind: 'http' | 'sse', rules: TransportRules): HttpTransport | undefined {
  const url = root.requiredText('url', urlProblem);
  const headers = readHeaders(root.member('headers'));
  if (url === undefined) return undefined;
  const problem = (rules.addressRule ?? clearOnlyToLoopback(root, headers))(url);
  if (problem !== undefined) root.refuse('url', problem);
  return { kind, url, headers };
}

function clearOnlyToLoopback(root: Shape, headers: ReadonlyMap<string, Secret>): AddressRule {
  const carriesSecret = root.has('credential') || headers.has('authorization');
  return (url) =>
    carriesSecret && url.toLowerCase().startsWith('http:') && !isLoopbackUrl(url)
      ? 'must start with https:// because a credential is sent there'
      : undefined;
}

function readStdio(root: Shape, source: 'table' | 'file'): StdioTransport | undefined {
  if (source === 'table') {
    root.refuse('command', NO_COMMANDS_HERE);
    return undefined;
  }
  const command = root.requiredText('command', commandProblem);
  const args = root.texts('args', MAX_ARGUMENTS, argumentProblem) ?? [];
  const cwd = root.text('cwd', (text) => (isAbsolute(text) ? argumentProblem(text) : 'must be an absolute path'));
  const env = readEnv(root.member('env'));
  return command === undefined ? undefined : { kind: 'stdio', command, args, env, cwd };
}

function readHeaders(shape: Shape | undefined): ReadonlyMap<string, Secret> {
  const headers = new Map<string, Secret>();
  for (const name of limitedNames(shape)) {
    const lower = name.toLowerCase();
    const problem = headers.has(lower)
      ? 'is there twice: header names are the same in any case'
      : headerNameProblem(name);
    if (problem !== undefined) shape?.refuse(name, problem);
    const value = shape?.text(name, (text) => headerValueProblem(text.trim())) ?? refuseNull(shape, name);
    headers.set(lower, new Secret(value.trim()));
  }
  return headers;
}

function readEnv(shape: Shape | undefined): ReadonlyMap<string, Secret> {
  const env = new Map<string, Secret>();
  for (const name of limitedNames(shape)) {
    const problem = envNameProblem(name, 'operator');
    if (problem !== undefined) shape?.refuse(name, problem);
    env.set(name, new Secret(shape?.text(name, envValueProblem) ?? refuseNull(shape, name)));
  }
  return env;
}

/** Left out is not the same as null in a map: a null value would vanish without a word. */
function refuseNull(shape: Shape | undefined, name: string): string {
  if (shape?.raw(name) === null) shape.refuse(name, 'must be text');
  return '';
}

function limitedNames(shape: Shape | undefined): readonly string[] {
  const names = shape?.names() ?? [];
  const [first] = names.slice(MAX_ENTRIES);
  if (first !== undefined) shape?.refuse(first, `is one too many: at most ${String(MAX_ENTRIES)} entries`);
  return names.slice(0, MAX_ENTRIES);
}
