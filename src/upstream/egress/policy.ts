// What the operator lets out: the rule for everybody, and the exceptions of KEYBEARER_EGRESS_ALLOW.
import { isIP } from 'node:net';
import { type Address, type AddressRange, isWithin, parseAddress, parseRange } from './address.ts';
import { refusalOf, throughNat64 } from './address-table.ts';
import { isInsideName } from './host-names.ts';

export interface EgressSettings {
  /** Hosts, `host:port` or ranges that are reachable although private, or on another port. */
  readonly allow: readonly string[];
  /** `http:` goes to hosts of that list. */
  readonly allowHttp: boolean;
  /** Ports of hosts that are not in the list. */
  readonly ports: readonly number[];
  readonly nat64: boolean;
}

const LOOPBACK = ['127.0.0.0/8', '::1/128'].map(parseRange);
const UNSPECIFIED = ['0.0.0.0/32', '::/128'].map(parseRange);
/** Answers on every machine of a cloud with keys of that machine; or is no address of anybody. */
const METADATA = ['0.0.0.0/8', '169.254.0.0/16', '168.63.129.16/32', '::/128', 'fe80::/10', 'fd00:ec2::/32'].map(
  parseRange,
);

interface AllowedRange {
  readonly range: AddressRange;
  /** Undefined: every port. */
  readonly port: number | undefined;
}

export interface EgressPolicy {
  readonly allowHttp: boolean;
  readonly ports: ReadonlySet<number>;
  /** Our own names: a call to ourselves would go round for ever. Read at each use, as the address is known late. */
  readonly selfHosts: () => readonly string[];
  /** That this process listens on, at whichever address of this machine; undefined until it does. */
  readonly ownPort: () => number | undefined;
  readonly hasRanges: boolean;
  /** The rule for everybody alone, as if the operator had named nothing. */
  readonly withoutExceptions: EgressPolicy;
  /** The operator named this host for this port. */
  namesHost(host: string, port: number): boolean;
  /** The operator named a range with this address in it. */
  namesAddress(address: Address, port: number): boolean;
  /** The operator wrote this very address. */
  namesExactly(address: Address, port: number): boolean;
  isLoopback(address: Address): boolean;
  /** No address, which systems take for this machine. */
  isUnspecified(address: Address): boolean;
  /** Link-local, metadata of a cloud, or no address of anybody: of no use to any server. */
  isMetadata(address: Address): boolean;
  /** Whether a listed name may lead there: into private networks, but to no metadata, and to this machine only by a name of the inside. */
  mayBeNamed(host: string, address: Address): boolean;
  /** The address that is reached: through NAT64 the one inside, else itself. */
  meantBy(address: Address): Address;
  /** Why nobody may connect to it, in words for the log; undefined when it is public. Exceptions are not looked at. */
  refusalOf(address: Address): string | undefined;
}

export interface PolicyOptions {
  readonly selfHosts?: () => readonly string[];
  readonly ownPort?: () => number | undefined;
}

export function createPolicy(settings: EgressSettings, options: PolicyOptions = {}): EgressPolicy {
  const { selfHosts = () => [], ownPort = () => undefined } = options;
  const hosts = new Set<string>();
  const ranges: AllowedRange[] = [];
  for (const entry of settings.allow) {
    const { host, port } = splitEntry(entry.toLowerCase());
    if (host.includes('/')) ranges.push({ range: parseRange(host), port });
    else if (isIP(host) !== 0) ranges.push({ range: parseRange(`${host}/${isIP(host) === 4 ? '32' : '128'}`), port });
    else hosts.add(port === undefined ? host : `${host}:${port}`);
  }
  const namesAddress = (address: Address, port: number): boolean =>
    ranges.some((allowed) => isWithin(address, allowed.range) && (allowed.port === undefined || allowed.port === port));
  const meantBy = (address: Address): Address => (settings.nat64 ? throughNat64(address) : address);
  const isLoopback = (address: Address): boolean => LOOPBACK.some((range) => isWithin(meantBy(address), range));
  const isMetadata = (address: Address): boolean => METADATA.some((range) => isWithin(meantBy(address), range));
  // Whoever allows this machine's address means this machine by its other name too.
  const here = parseAddress('127.0.0.1') as Address;
  const bare = settings.allow.length === 0 ? undefined : createPolicy({ ...settings, allow: [] }, options);
  const policy: EgressPolicy = {
    allowHttp: settings.allowHttp,
    ports: new Set(settings.ports),
    selfHosts,
    ownPort,
    hasRanges: ranges.length > 0,
    get withoutExceptions() {
      return bare ?? policy;
    },
    namesHost: (host, port) =>
      hosts.has(host) || hosts.has(`${host}:${port}`) || (host === 'localhost' && namesAddress(here, port)),
    namesAddress,
    namesExactly: (address, port) =>
      ranges.some(
        ({ range, port: only }) =>
          range.hostBits === 0n && isWithin(address, range) && (only === undefined || only === port),
      ),
    isLoopback,
    isUnspecified: (address) => UNSPECIFIED.some((range) => isWithin(meantBy(address), range)),
    isMetadata,
    mayBeNamed: (host, address) => !isMetadata(address) && (isInsideName(host) || !isLoopback(address)),
    meantBy,
    refusalOf: (address) => refusalOf(address, settings),
  };
  return policy;
}

/** `host`, `host:port`, an address, `[v6]:port`, a range or `range:port`, as the configuration lets through. */
function splitEntry(entry: string): { host: string; port: number | undefined } {
  if (isIP(entry) !== 0) return { host: entry, port: undefined };
  const [, range, ofRange] = /^(.*\/\d+)(?::(\d+))?$/.exec(entry) ?? [];
  if (range !== undefined) return { host: range, port: ofRange === undefined ? undefined : Number(ofRange) };
  const [, bracketed, plain = '', port] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  return { host: bracketed ?? plain, port: port === undefined ? undefined : Number(port) };
}
