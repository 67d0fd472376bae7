// The second half of the guard: opens each socket. Resolve, copy, check every answer, dial one of the checked
// addresses, look who is at the other end, and only then let bytes through. Nothing is remembered between two
// sockets, so a name that moves is checked where it moved to.
import type { Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import type { Clock } from '../../shared/clock.ts';
import { EgressDeniedError } from '../../shared/errors.ts';
import { type Address, parseAddress } from './address.ts';
import { type CheckedTarget, checkTarget } from './check-url.ts';
import type { Dial } from './dial.ts';
import type { EgressPolicy } from './policy.ts';
import { readAhead } from './read-ahead.ts';
import type { Resolve } from './resolve.ts';

export interface ConnectorDeps {
  readonly policy: EgressPolicy;
  readonly resolve: Resolve;
  readonly dial: Dial;
  /** Addresses of this machine; a call to ourselves would go round for ever. */
  readonly ownAddresses: () => Iterable<string>;
  /** Told of every refusal, with what no agent may see. */
  readonly onDenied: (denial: Denial) => void;
  readonly clock: Clock;
  /** Certificates of authorities to trust instead of the system's, PEM. */
  readonly ca?: string | undefined;
}

export interface Denial {
  readonly host: string;
  readonly port: number;
  readonly error: EgressDeniedError;
}

/** One socket being opened. */
interface Opening extends ConnectorDeps {
  /** Of this machine at this moment: asked for once, however many answers a name has. */
  readonly own: readonly Address[];
}

const MAX_ANSWERS = 64;
/** Addresses of one name that are tried; each gets its share of the time. */
const MAX_DIALS = 4;
const DIAL_MS = 5_000;
const TLS_MS = 5_000;

export function createConnector(deps: ConnectorDeps): buildConnector.connector {
  return ({ protocol, hostname, port, servername }, callback) => {
    open({ ...deps, own: parsed(deps.ownAddresses()) }, { protocol, hostname, port }, servername).then(
      (socket) => callback(null, readAhead(socket)),
      (error: unknown) => {
        if (error instanceof EgressDeniedError) deps.onDenied({ host: hostname, port: Number(port), error });
        callback(error as Error, null);
      },
    );
  };
}

async function open(
  deps: Opening,
  asked: { protocol: string; hostname: string; port: string },
  servername: string | undefined,
): Promise<Socket> {
  const target = checkTarget(asked, deps.policy);
  const addresses = target.address === undefined ? await checkedAnswers(deps, target) : [literal(deps, target)];
  const socket = await dialFirst(deps, target, addresses);
  return target.isTls ? startTls(deps, target, socket, servername) : socket;
}

/** All of them or none: a name with one answer inside is refused as a whole. */
async function checkedAnswers(deps: Opening, target: CheckedTarget): Promise<readonly string[]> {
  // Copied as text before anything looks at it: what is dialled is what was checked.
  const answers = Array.from(await deps.resolve(target.host, { isNamed: target.isNamed }), String);
  if (answers.length === 0 || answers.length > MAX_ANSWERS) throw new EgressDeniedError('dns_answer');
  for (const answer of answers) requireAllowed(deps, target, answer);
  return [...new Set(answers)].slice(0, MAX_DIALS);
}

function literal(deps: Opening, target: CheckedTarget): string {
  requireAllowed(deps, target, target.host);
  return target.host;
}

function requireAllowed({ policy, own }: Opening, target: CheckedTarget, text: string): void {
  const address = parseAddress(text);
  if (address === undefined) throw new EgressDeniedError('dns_answer', 'no canonical address');
  // Only what the operator wrote out leads back to this machine by its address in the network; a range does not. To
  // this very process nothing does, whatever was allowed: a call would go round for ever.
  const isLoopback = policy.isLoopback(address);
  const isOwnAddress = !isLoopback && isOwn(address, own, policy);
  const isOwnPort = target.port === policy.ownPort();
  const isUs = isOwnPort && (isLoopback || isOwnAddress || policy.isUnspecified(address));
  if (isUs || (isOwnAddress && !policy.namesExactly(address, target.port)))
    throw new EgressDeniedError('own_host', text);
  if (policy.namesAddress(address, target.port)) return;
  const refusal = policy.refusalOf(address);
  if (target.isNamed && policy.mayBeNamed(target.host, address)) return;
  if (refusal !== undefined) throw new EgressDeniedError('private_address', `${text}: ${refusal}`);
  if (target.needsRange) throw new EgressDeniedError(target.isTls ? 'port' : 'scheme');
}

async function dialFirst(deps: Opening, target: CheckedTarget, addresses: readonly string[]): Promise<Socket> {
  let failure: unknown;
  for (const text of addresses) {
    try {
      const socket = await deps.dial({
        address: text,
        port: target.port,
        withinMs: Math.ceil(DIAL_MS / addresses.length),
      });
      requirePeer(deps, target, text, socket);
      return socket;
    } catch (error) {
      if (error instanceof EgressDeniedError) throw error;
      failure = error;
    }
  }
  throw failure;
}

/** Catches mistakes of our own and of what lies between; before the first byte is sent. */
function requirePeer(deps: Opening, target: CheckedTarget, dialled: string, socket: Socket): void {
  // Gone as soon as it came: no other end, and nothing that was refused.
  if (socket.remoteAddress === undefined) {
    socket.destroy();
    throw Object.assign(new Error('the connection was reset'), { code: 'ECONNRESET' });
  }
  const peer = parseAddress(socket.remoteAddress);
  const isIt = peer !== undefined && isSame(peer, parseAddress(dialled));
  try {
    if (!isIt) throw new EgressDeniedError('private_address', `connected to ${socket.remoteAddress} instead`);
    requireAllowed(deps, target, socket.remoteAddress);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** As numbers, and what NAT64 carries as what it leads to. */
function isOwn(address: Address, own: readonly Address[], policy: EgressPolicy): boolean {
  const meant = policy.meantBy(address);
  return own.some((one) => isSame(meant, one));
}

const parsed = (texts: Iterable<string>): readonly Address[] =>
  Array.from(texts, parseAddress).filter((address) => address !== undefined);

const isSame = (one: Address, other: Address | undefined): boolean =>
  one.family === other?.family && one.value === other.value;

/** SNI and certificate are those of the name, whatever address was dialled. */
function startTls(
  deps: ConnectorDeps,
  target: CheckedTarget,
  socket: Socket,
  name: string | undefined,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const tls = connectTls({
      socket,
      // An address may not stand in SNI (RFC 6066 §3); it is compared with the certificate all the same.
      ...(target.address === undefined ? { servername: name ?? target.host } : { host: target.host }),
      ALPNProtocols: ['http/1.1'],
      ...(deps.ca === undefined ? {} : { ca: deps.ca }),
    });
    const giveUp = deps.clock.after(TLS_MS, () => tls.destroy(new Error('TLS took too long')));
    const onError = (error: Error): void => {
      giveUp();
      socket.destroy();
      reject(error);
    };
    tls.once('error', onError);
    tls.once('secureConnect', () => {
      giveUp();
      tls.off('error', onError);
      resolve(tls);
    });
  });
}
