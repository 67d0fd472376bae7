// Turns the environment into one frozen Config, or into the list of everything that is wrong with it.
// Values are never repeated in a problem: several of them are secrets, and any may be a secret misplaced.
import { isIP } from 'node:net';
import { z } from 'zod';
import { didYouMean } from './catalog/near-miss.ts';
import {
  type CommandUser,
  flag,
  list,
  parseCidr,
  parseCommandUser,
  parseHost,
  parseHostAndPort,
  parseMasterKeys,
  parseOrigin,
  parsePath,
  parsePort,
  parsePublicUrl,
  parseTrustProxy,
  text,
  whole,
} from './config-parse.ts';
import { CONFIG_VARIABLES, type ConfigVariable } from './config-variables.ts';
import type { TrustProxy } from './limits/client-address.ts';
import { Secret } from './shared/secret.ts';

export interface Config {
  readonly http: {
    readonly host: string;
    readonly port: number;
    /** Without slash at the end. Undefined when the port is chosen by the system: known once it listens. */
    readonly publicUrl: string | undefined;
    /** Undefined: the public URL's and loopback. */
    readonly allowedHosts: readonly string[] | undefined;
    readonly allowedOrigins: readonly string[] | undefined;
    /** Undefined: no front is believed. */
    readonly trustProxy: TrustProxy | undefined;
  };
  /** Undefined: an embedded database in `dataDir`. */
  readonly database: { readonly url: Secret | undefined };
  readonly dataDir: string;
  /** Base64 of 32 bytes each; the first seals, all open. Undefined: kept in `dataDir`. */
  readonly vault: { readonly masterKeys: readonly Secret[] | undefined };
  readonly admin: { readonly key: Secret | undefined };
  readonly operatorFile: string | undefined;
  /** Undefined: commands run as the user of the proxy. */
  readonly commandUser: CommandUser | undefined;
  readonly egress: {
    readonly allow: readonly string[];
    readonly allowHttp: boolean;
    readonly ports: readonly number[];
    readonly nat64: boolean;
  };
  readonly limits: {
    readonly idleTimeoutMs: number;
    readonly listDeadlineMs: number;
    readonly signInWaitMs: number;
    readonly maxConnectionsPerTenant: number;
    readonly maxCommandsPerTenant: number;
    /** Undefined: not counted. */
    readonly requestsPerSecondPerTenant: number | undefined;
    readonly requestsPerSecondPerPrincipal: number | undefined;
  };
  readonly allowLinkSignIn: boolean;
  readonly logLevel: LogLevel;
}

type LogLevel = (typeof LOG_LEVELS)[number];
type Environment = Readonly<Record<string, string | undefined>>;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export { CONFIG_VARIABLES };

export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(['The configuration does not hold:', ...problems.map((problem) => `  - ${problem}`)].join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** @throws ConfigError that names every problem. */
export function parseConfig(env: Environment): Config {
  const values = valuesOf(env);
  const problems = unknownNames(env);
  const http = read(httpArea, values, problems);
  const vault = read(vaultArea, values, problems);
  const egress = read(egressArea, values, problems);
  const limits = read(limitsArea, values, problems);
  const rest = read(processArea, values, problems);
  problems.push(...missingSecrets(values));
  if (problems.length > 0 || !http || !vault || !egress || !limits || !rest) throw new ConfigError(problems);
  return deepFreeze({
    http: {
      host: http.HOST,
      port: http.PORT,
      publicUrl: http.KEYBEARER_PUBLIC_URL ?? defaultPublicUrl(http.HOST, http.PORT),
      allowedHosts: http.KEYBEARER_ALLOWED_HOSTS,
      allowedOrigins: http.KEYBEARER_ALLOWED_ORIGINS,
      trustProxy: http.KEYBEARER_TRUST_PROXY,
    },
    database: { url: rest.DATABASE_URL },
    dataDir: rest.KEYBEARER_DATA_DIR,
    vault: { masterKeys: vault.KEYBEARER_MASTER_KEY },
    admin: { key: vault.KEYBEARER_ADMIN_KEY },
    operatorFile: rest.KEYBEARER_CONFIG,
    egress: {
      allow: egress.KEYBEARER_EGRESS_ALLOW ?? [],
      allowHttp: egress.KEYBEARER_EGRESS_ALLOW_HTTP,
      ports: egress.KEYBEARER_EGRESS_PORTS.map(Number),
      nat64: egress.KEYBEARER_EGRESS_TRANSLATION,
    },
    limits: {
      idleTimeoutMs: limits.KEYBEARER_IDLE_TIMEOUT_MS,
      listDeadlineMs: limits.KEYBEARER_LIST_DEADLINE_MS,
      signInWaitMs: limits.KEYBEARER_SIGN_IN_WAIT_MS,
      maxConnectionsPerTenant: limits.KEYBEARER_MAX_CONNECTIONS_PER_TENANT,
      maxCommandsPerTenant: limits.KEYBEARER_MAX_COMMANDS_PER_TENANT,
      requestsPerSecondPerTenant: limits.KEYBEARER_REQUESTS_PER_SECOND_PER_TENANT,
      requestsPerSecondPerPrincipal: limits.KEYBEARER_REQUESTS_PER_SECOND_PER_PRINCIPAL,
    },
    commandUser: rest.KEYBEARER_COMMAND_USER,
    allowLinkSignIn: rest.KEYBEARER_ALLOW_LINK_SIGN_IN,
    logLevel: rest.LOG_LEVEL,
  });
}

/** Blank is unset: that is what `NAME=` in an env file, or an empty compose variable, means. */
function valuesOf(env: Environment): Environment {
  const value = ({ name, default: fallback }: ConfigVariable): string | undefined => env[name]?.trim() || fallback;
  return Object.fromEntries(CONFIG_VARIABLES.map((variable) => [variable.name, value(variable)]));
}

function unknownNames(env: Environment): string[] {
  const known = CONFIG_VARIABLES.map(({ name }) => name);
  const unknown = Object.keys(env).filter((name) => name.startsWith('KEYBEARER_') && !known.includes(name));
  return unknown.map((name) => `${name} is not known.${didYouMean(name, known)}`);
}

function missingSecrets(values: Environment): string[] {
  if (values['DATABASE_URL'] === undefined) return [];
  const needed = ['KEYBEARER_MASTER_KEY', 'KEYBEARER_ADMIN_KEY'].filter((name) => values[name] === undefined);
  return needed.map((name) => `${name} is needed when DATABASE_URL is set: every node must have the same one`);
}

function read<T>(area: z.ZodType<T>, values: Environment, problems: string[]): T | undefined {
  const result = area.safeParse(values);
  if (result.success) return result.data;
  problems.push(...result.error.issues.map(({ path, message }) => `${String(path[0])} ${message}`));
  return undefined;
}

const httpArea = z.object({
  HOST: text('must be a host name or an IP address', parseHost),
  PORT: whole(0, 65_535),
  KEYBEARER_PUBLIC_URL: text(
    'must be an http:// or https:// URL without user, query or fragment',
    parsePublicUrl,
  ).optional(),
  KEYBEARER_ALLOWED_HOSTS: list('must be a comma list of hosts, each perhaps with :port', parseHostAndPort).optional(),
  KEYBEARER_ALLOWED_ORIGINS: list(
    'must be a comma list of origins such as https://app.example.com',
    parseOrigin,
  ).optional(),
  KEYBEARER_TRUST_PROXY: text(
    'must be a comma list of IP addresses and CIDR, or a number of fronts from 1 to 10',
    parseTrustProxy,
  ).optional(),
});

const vaultArea = z.object({
  KEYBEARER_MASTER_KEY: text(
    'must be base64 of 32 bytes (openssl rand -base64 32), or a comma list of different ones',
    parseMasterKeys,
  ).optional(),
  KEYBEARER_ADMIN_KEY: text('must be at least 8 visible ASCII characters', (value) =>
    /^[\x21-\x7e]{8,512}$/.test(value) ? new Secret(value) : undefined,
  ).optional(),
});

const egressArea = z.object({
  KEYBEARER_EGRESS_ALLOW: list(
    'must be a comma list of hosts, host:port or CIDR, such as localhost:9107, without http:// or a path',
    (item) => parseCidr(item) ?? parseHostAndPort(item),
  ).optional(),
  KEYBEARER_EGRESS_ALLOW_HTTP: flag(),
  KEYBEARER_EGRESS_PORTS: list('must be a comma list of ports from 1 to 65535', parsePort),
  KEYBEARER_EGRESS_TRANSLATION: flag(),
});

const limitsArea = z.object({
  KEYBEARER_IDLE_TIMEOUT_MS: whole(10, 86_400_000),
  KEYBEARER_LIST_DEADLINE_MS: whole(1, 600_000),
  KEYBEARER_SIGN_IN_WAIT_MS: whole(0, 3_600_000),
  KEYBEARER_MAX_CONNECTIONS_PER_TENANT: whole(1, 1_000_000),
  KEYBEARER_MAX_COMMANDS_PER_TENANT: whole(1, 10_000),
  KEYBEARER_REQUESTS_PER_SECOND_PER_TENANT: whole(1, 100_000).optional(),
  KEYBEARER_REQUESTS_PER_SECOND_PER_PRINCIPAL: whole(1, 100_000).optional(),
});

const processArea = z.object({
  DATABASE_URL: text('must start with postgres:// or postgresql://', (value) =>
    /^postgres(?:ql)?:\/\/\S+$/.test(value) ? new Secret(value) : undefined,
  ).optional(),
  KEYBEARER_DATA_DIR: text('must be a directory, not an address', parsePath),
  KEYBEARER_CONFIG: text('must be the path of a file, not an address', parsePath).optional(),
  KEYBEARER_COMMAND_USER: text(
    'must be a uid or uid:gid, in numbers from 1 on; root is refused',
    parseCommandUser,
  ).optional(),
  KEYBEARER_ALLOW_LINK_SIGN_IN: flag(),
  KEYBEARER_WORKERS: text(
    'must be 1: this version serves with one process; run several of them to use more cores',
    (value) => (value === '1' ? 1 : undefined),
  ),
  LOG_LEVEL: text(`must be one of ${LOG_LEVELS.join(', ')}`, (value) =>
    LOG_LEVELS.find((level) => level === value.toLowerCase()),
  ),
});

function defaultPublicUrl(host: string, port: number): string | undefined {
  if (port === 0) return undefined;
  return new URL(`http://${isIP(host) === 6 ? `[${host}]` : host}:${String(port)}`).origin;
}

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value) as unknown[])
    if (typeof member === 'object' && member !== null) deepFreeze(member);
  return Object.freeze(value);
}
