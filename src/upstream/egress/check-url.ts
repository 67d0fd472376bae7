// The first half of the guard: whether a URL may be used at all, told from its text. Used when a server is
// registered, before each request and for each redirect. Names are not looked up here; what they resolve
// to is checked for each socket (connector.ts).
import { EgressDeniedError, type EgressReason } from '../../shared/errors.ts';
import { urlFault } from '../../shared/url-form.ts';
import { type Address, parseAddress } from './address.ts';
import { bareHost, isInsideName, isWellFormed } from './host-names.ts';
import type { EgressPolicy } from './policy.ts';

/** Where a socket may be opened to, as far as the text says. */
export interface CheckedTarget {
  /** Lower case, without a dot at its end, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** The host, when it is an address; such hosts are never looked up. */
  readonly address: Address | undefined;
  /** The operator vouches for the host by name: it may resolve to anything. */
  readonly isNamed: boolean;
  /** Every address has to be in a range that the operator named: port or scheme are allowed nowhere else. */
  readonly needsRange: boolean;
}

/** @throws EgressDeniedError, which repeats nothing of the text. */
export function checkUrl(text: string, policy: EgressPolicy): CheckedTarget {
  const fault = urlFault(text);
  if (fault !== undefined) throw denied(fault === 'scheme' ? 'scheme' : 'url');
  const { protocol, hostname, port } = new URL(text);
  return checkTarget({ protocol, hostname, port }, policy);
}

export interface Target {
  readonly protocol: string;
  /** As in `URL.hostname`; IPv6 with or without brackets. */
  readonly hostname: string;
  /** '' is the port of the scheme. */
  readonly port: string;
}

/** @throws EgressDeniedError */
export function checkTarget({ protocol, hostname, port: portText }: Target, policy: EgressPolicy): CheckedTarget {
  const isTls = protocol === 'https:';
  const host = bareHost(hostname);
  const port = portText === '' ? (isTls ? 443 : 80) : Number(portText);
  const address = parseAddress(host);
  const isNamed = policy.namesHost(host, port);
  const inRange = address !== undefined && policy.namesAddress(address, port);
  checkHost({ host, port, address, isAllowed: isNamed || inRange }, policy);
  const isOrdinary = isTls && policy.ports.has(port);
  // A name may still resolve into one of the operator's ranges, where other ports and `http:` are allowed.
  const mayProve = address === undefined && policy.hasRanges;
  if (!isOrdinary && !isNamed && !inRange && !mayProve) throw denied(isTls ? 'port' : 'scheme');
  if (!isTls && !policy.allowHttp) throw denied('scheme');
  return { host, port, isTls, address, isNamed, needsRange: !isOrdinary && !isNamed && !inRange };
}

interface Place extends Pick<CheckedTarget, 'host' | 'port' | 'address'> {
  /** By an exception of the operator. */
  readonly isAllowed: boolean;
}

function checkHost({ host, port, address, isAllowed }: Place, policy: EgressPolicy): void {
  const isHere =
    address === undefined ? host === 'localhost' : policy.isLoopback(address) || policy.isUnspecified(address);
  // Whatever was allowed: a call to ourselves would go round for ever.
  if (isHere && port === policy.ownPort()) throw denied('own_host');
  if (isAllowed) return;
  // Beside us on this machine are others, on ports of their own.
  if (!isHere && policy.selfHosts().includes(host)) throw denied('own_host');
  if (address === undefined) checkName(host);
  else if (policy.refusalOf(address) !== undefined) throw denied('private_address', policy.refusalOf(address));
}

function checkName(host: string): void {
  // Anything else with a colon or a digit at its end would be an address in a spelling of its own.
  if (!isWellFormed(host) || /[^a-z0-9._-]/.test(host) || /(?:^|\.)\d[^.]*$/.test(host)) throw denied('host');
  if (isInsideName(host)) throw denied('private_host');
}

function denied(reason: EgressReason, detail?: string): EgressDeniedError {
  return new EgressDeniedError(reason, detail);
}
