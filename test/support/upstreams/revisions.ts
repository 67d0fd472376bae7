// The literals of the two eras, written out here so that the fixtures owe nothing to the product.
export const MODERN = '2026-07-28';
export const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26'];

export const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
export const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
export const CLIENT_INFO_KEY = 'io.modelcontextprotocol/clientInfo';
export const SERVER_INFO_KEY = 'io.modelcontextprotocol/serverInfo';
export const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId';

/** 2026-07-28 §basic/index, error codes. */
export const HEADER_MISMATCH = -32020;
export const UNSUPPORTED_VERSION = -32022;

export type Era = 'legacy' | 'modern';
