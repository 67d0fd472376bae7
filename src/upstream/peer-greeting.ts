// The first words on a stream of messages: the era both sides speak and what the server offers.
import { OwnError, ProxyError } from '../shared/errors.ts';
import type { Implementation } from '../wire/envelope.ts';
import { type Era, isLegacyVersion, LATEST_LEGACY, MODERN_VERSION } from '../wire/era.ts';
import { isJsonObject, type JsonObject, type Reply } from '../wire/reply.ts';
import type { RpcPeer } from './rpc-peer.ts';

export interface Greeting {
  readonly era: Era;
  readonly version: string;
  readonly capabilities: JsonObject;
}

/** Legacy only: the transport died with the revisions that use it. */
export async function greetLegacy(peer: RpcPeer, client: Implementation, signal: AbortSignal): Promise<Greeting> {
  const reply = await initialize(peer, client, signal);
  return reply.isError ? refused(reply) : welcomed(peer, reply);
}

/**
 * `initialize` first, since a server of today would answer nothing else; one that refuses it in whatever
 * words is asked in the modern way over the same stream (2026-07-28 §basic/lifecycle).
 */
export async function greet(peer: RpcPeer, client: Implementation, signal: AbortSignal): Promise<Greeting> {
  const reply = await initialize(peer, client, signal);
  if (!reply.isError) return welcomed(peer, reply);
  const discovered = await peer.request('modern', { method: 'server/discover', params: undefined, signal });
  return discovered.isError ? refused(reply) : discovery(discovered);
}

function initialize(peer: RpcPeer, client: Implementation, signal: AbortSignal): Promise<Reply> {
  // Nothing is advertised that is not relayed.
  const params = { protocolVersion: LATEST_LEGACY, capabilities: {}, clientInfo: client };
  return peer.request('legacy', { method: 'initialize', params, signal });
}

function welcomed(peer: RpcPeer, reply: Reply): Greeting {
  const result = reply.payload();
  const version = isJsonObject(result) ? result['protocolVersion'] : undefined;
  if (!isLegacyVersion(version)) throw unknownVersion();
  peer.notify('notifications/initialized');
  return { era: 'legacy', version, capabilities: capabilitiesOf(result) };
}

function discovery(reply: Reply): Greeting {
  const result = reply.payload();
  const versions = isJsonObject(result) ? result['supportedVersions'] : undefined;
  if (!Array.isArray(versions) || !versions.includes(MODERN_VERSION)) throw unknownVersion();
  return { era: 'modern', version: MODERN_VERSION, capabilities: capabilitiesOf(result) };
}

function capabilitiesOf(result: unknown): JsonObject {
  return isJsonObject(result) && isJsonObject(result['capabilities']) ? result['capabilities'] : {};
}

function refused(reply: Reply): never {
  const error = reply.payload();
  const cause = new OwnError(isJsonObject(error) ? String(error['message']).slice(0, 200) : 'no error object');
  throw new ProxyError('upstream_protocol', 'The server refused to initialize.', { cause });
}

const unknownVersion = (): ProxyError =>
  new ProxyError('upstream_protocol', 'The server speaks no protocol version that is known here.');
