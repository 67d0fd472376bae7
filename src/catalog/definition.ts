// Turns what an admin wrote into an UpstreamServer, or into the list of everything that is wrong with it.
import type { ServerId, TenantId } from '../shared/id.ts';
import type { AddressRule } from './address-rule.ts';
import { readCredential } from './definition-credential.ts';
import { lineProblem, patternProblem, pointerProblem, proseProblem, serverNameProblem } from './definition-rules.ts';
import { Shape } from './definition-shape.ts';
import { readTransport, readTransportKind } from './definition-transport.ts';
import type { Problem, UpstreamServer } from './upstream-server.ts';

export interface DefinitionInput {
  readonly tenantId: TenantId;
  readonly id: ServerId;
  readonly name: string;
  readonly revision: string;
  readonly enabled: boolean;
  readonly source: 'table' | 'file';
  /** Anything; sealed values already opened. */
  readonly definition: unknown;
  /** For definitions that do not say. */
  readonly defaultIdleTimeoutMs?: number;
  /** Left out, only the form of addresses is looked at, and a credential may go to loopback in clear. */
  readonly addressRule?: AddressRule;
}

export type DefinitionResult =
  | { readonly ok: true; readonly server: UpstreamServer }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const MEMBERS = [
  'type',
  'url',
  'headers',
  'command',
  'args',
  'env',
  'cwd',
  'enabled',
  'disabled',
  'title',
  'description',
  'prefix',
  'credential',
  'only',
  'except',
  'resources',
  'prompts',
  'asTools',
  'timeoutMs',
  'connectTimeoutMs',
  'idleTimeoutMs',
  'maxConcurrentCalls',
  'maxResultBytes',
  'gated',
  'trusted',
  'cost',
  'catalog',
];

/** What other clients' files call the same thing. */
const MEANT = {
  serverUrl: 'url',
  httpUrl: 'url',
  endpoint: 'url',
  transport: 'type',
  timeout: 'timeoutMs',
  auth: 'credential',
  oauth: 'credential.oauth',
  include: 'only',
  includeTools: 'only',
  allowedTools: 'only',
  enabledTools: 'only',
  tools: 'only',
  exclude: 'except',
  excludeTools: 'except',
  disabledTools: 'except',
  requireApproval: 'gated',
};

const MAX_PATTERNS = 100;

type Limits = Pick<
  UpstreamServer,
  'timeoutMs' | 'connectTimeoutMs' | 'idleTimeoutMs' | 'maxConcurrentCalls' | 'maxResultBytes'
>;

export function parseDefinition(input: DefinitionInput): DefinitionResult {
  const problems: Problem[] = [];
  const nameProblem = serverNameProblem(input.name);
  if (nameProblem !== undefined) problems.push({ path: '$', message: `The server's name ${nameProblem}` });
  const root = Shape.of(input.definition, '$', problems);
  const server = root === undefined ? undefined : readServer(root, input);
  return problems.length > 0 || server === undefined ? { ok: false, problems } : { ok: true, server };
}

/** Reads on after a problem, so that one answer names them all; what it gives then is thrown away. */
function readServer(root: Shape, input: DefinitionInput): UpstreamServer | undefined {
  root.refuseUnknown(MEMBERS, MEANT);
  const kind = readTransportKind(root);
  const rules = { source: input.source, addressRule: input.addressRule };
  const transport = kind === undefined ? undefined : readTransport(root, kind, rules);
  const rest = {
    enabled: readEnabled(root) && input.enabled,
    title: root.text('title', lineProblem(200)),
    description: root.text('description', proseProblem(4000)),
    prefix: root.text('prefix', serverNameProblem) ?? input.name,
    credential: readCredential(root, kind, input.addressRule),
    only: root.texts('only', MAX_PATTERNS, patternProblem(128)),
    except: root.texts('except', MAX_PATTERNS, patternProblem(128)) ?? [],
    resourcesOnly: readOnlyList(root, 'resources'),
    promptsOnly: readOnlyList(root, 'prompts'),
    asTools: root.flag('asTools') ?? false,
    ...readLimits(root, input),
    gated: gatedIn(root),
    trusted: root.flag('trusted') ?? false,
    cost: readCost(root.member('cost')),
    catalog: root.choice('catalog', ['shared', 'principal']) ?? ('shared' as const),
  };
  const { tenantId, id, name, revision, source } = input;
  return transport === undefined ? undefined : { tenantId, id, name, revision, source, transport, ...rest };
}

/** `disabled` is what other clients' files say; two answers that contradict each other are none. */
function readEnabled(root: Shape): boolean {
  const enabled = root.flag('enabled');
  const disabled = root.flag('disabled');
  if (enabled !== undefined && enabled === disabled) root.refuse('disabled', 'contradicts "enabled"');
  return (enabled ?? true) && !(disabled ?? false);
}

/** Above these a mistake is likelier than a wish; below, nothing could work. */
function readLimits(root: Shape, input: DefinitionInput): Limits {
  return {
    timeoutMs: root.whole('timeoutMs', 1, 3_600_000) ?? 60_000,
    connectTimeoutMs: root.whole('connectTimeoutMs', 10, 120_000) ?? 15_000,
    idleTimeoutMs: root.whole('idleTimeoutMs', 10, 86_400_000) ?? input.defaultIdleTimeoutMs ?? 300_000,
    maxConcurrentCalls: root.whole('maxConcurrentCalls', 1, 1000) ?? 16,
    maxResultBytes: root.whole('maxResultBytes', 64, 16 * 1024 * 1024) ?? 131_072,
  };
}

function readOnlyList(root: Shape, name: 'resources' | 'prompts'): readonly string[] | undefined {
  root.refuseNull(name);
  const shape = root.member(name);
  shape?.refuseUnknown(['only'], { except: 'only', include: 'only' });
  return shape?.texts('only', MAX_PATTERNS, patternProblem(2048));
}

function gatedIn(root: Shape): UpstreamServer['gated'] {
  const value = root.raw('gated');
  if (Array.isArray(value)) return root.texts('gated', MAX_PATTERNS, patternProblem(128));
  if (value === undefined || readGated(value) !== undefined) return readGated(value);
  root.refuse('gated', 'must be true, false, a list of globs, "not-read-only" or "destructive"');
  return undefined;
}

/** Undefined for what says nothing about gating. */
export function readGated(value: unknown): UpstreamServer['gated'] {
  if (typeof value === 'boolean' || value === 'not-read-only' || value === 'destructive') return value;
  const isList =
    Array.isArray(value) && value.length <= MAX_PATTERNS && value.every((item) => typeof item === 'string');
  return isList ? value : undefined;
}

function readCost(shape: Shape | undefined): UpstreamServer['cost'] {
  if (shape === undefined) return undefined;
  shape.refuseUnknown(['usd']);
  const usd = shape.raw('usd');
  if (typeof usd === 'number' && Number.isFinite(usd) && usd >= 0 && usd <= 1000) return { usd };
  if (typeof usd !== 'object' || usd === null) {
    shape.refuse('usd', 'must be an amount from 0 to 1000, or { "path": a JSON Pointer into the result }');
    return undefined;
  }
  const pointer = shape.member('usd');
  pointer?.refuseUnknown(['path']);
  const path = pointer?.requiredText('path', pointerProblem);
  return path === undefined ? undefined : { usd: { path } };
}
