// legacy: revisions up to 2025-11-25, with initialize and a session. modern: 2026-07-28, without.
import type { JsonObject } from './reply.ts';
import { isJsonObject } from './reply.ts';

export type Era = 'legacy' | 'modern';

export const MODERN_VERSION = '2026-07-28';
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
export const LATEST_LEGACY = LEGACY_VERSIONS[0];

export const isLegacyVersion = (version: unknown): version is string => LEGACY_VERSIONS.includes(version as never);

export const META_VERSION = 'io.modelcontextprotocol/protocolVersion';
export const META_CLIENT_INFO = 'io.modelcontextprotocol/clientInfo';
export const META_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
export const META_SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
export const META_SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
/** Keys of the per-request envelope: they belong to one hop and are written anew on the next. */
export const META_LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

export const metaOf = (params: unknown): JsonObject | undefined =>
  isJsonObject(params) && isJsonObject(params['_meta']) ? params['_meta'] : undefined;
