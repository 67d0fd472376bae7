// Host and Origin allowlists, looked at before anything of a request is read (2025-11-25 §transports,
// security warning: Origin MUST be validated). An absent Origin is fine: agents are no browsers.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isSaidTwice } from './authorization-header.ts';

export interface GatekeeperOptions {
  /** Origin of the public URL; undefined until the port is known. */
  readonly publicUrl: () => string;
  readonly allowedHosts: readonly string[] | undefined;
  readonly allowedOrigins: readonly string[] | undefined;
}

export interface Gatekeeper {
  /** Undefined when the request may go on; else the status to refuse it with. */
  check(request: IncomingMessage, door: 'api' | 'pages'): 400 | 403 | undefined;
  /** For an allowed Origin: the headers that let its scripts read the answer. */
  allowReading(request: IncomingMessage, response: ServerResponse): void;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
/** An origin and nothing more: no user, path or list. */
const LOOPBACK_ORIGIN = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;
const EXPOSED = 'Mcp-Session-Id, WWW-Authenticate, MCP-Protocol-Version, Retry-After';

const hostName = (host: string): string => host.replace(/:\d+$/, '').toLowerCase();

/**
 * Undefined when nothing, or two things, are said. Of two Host headers Node shows the first (RFC 9112 §3.2
 * has them refused); a target in absolute form says the host itself, and the header means nothing (§3.2.2).
 */
function hostOf({ url = '/', headers, rawHeaders }: IncomingMessage): string | undefined {
  if (headers.host === undefined || isSaidTwice(rawHeaders, 'host')) return undefined;
  if (url.startsWith('/') || url === '*') return headers.host;
  return URL.canParse(url) ? new URL(url).host : undefined;
}

export function createGatekeeper({ publicUrl, allowedHosts, allowedOrigins }: GatekeeperOptions): Gatekeeper {
  const hosts = new Set((allowedHosts ?? []).map((host) => host.toLowerCase()));
  const origins = new Set((allowedOrigins ?? []).map((origin) => origin.toLowerCase()));
  let parsed = { text: '', host: '', origin: '' };
  const own = (): typeof parsed => {
    const text = publicUrl();
    if (text !== parsed.text) parsed = { text, host: new URL(text).host, origin: new URL(text).origin };
    return parsed;
  };

  /** The one that nearly all requests name. What is allowed stays so: our own name only becomes known. */
  let lastAllowed: string | undefined;
  const hostIsAllowed = (host: string): boolean => {
    if (host === lastAllowed) return true;
    const lower = host.toLowerCase();
    const isAllowed =
      LOOPBACK.has(hostName(lower)) || hosts.has(lower) || hosts.has(hostName(lower)) || lower === own().host;
    if (isAllowed) lastAllowed = host;
    return isAllowed;
  };

  const originIsAllowed = (origin: string): boolean => {
    const lower = origin.toLowerCase();
    if (origins.has(lower) || lower === own().origin) return true;
    return LOOPBACK_ORIGIN.test(lower);
  };

  return {
    check(request, door) {
      const { origin } = request.headers;
      const host = hostOf(request);
      if (host === undefined) return 400;
      if (!hostIsAllowed(host)) return 403;
      // What browsers send with a form of a page that has `no-referrer` (Fetch §3.2), as ours have; those
      // judge their posts by more than this header.
      if (origin === 'null' && door === 'pages') return undefined;
      return origin === undefined || originIsAllowed(origin) ? undefined : 403;
    },
    allowReading(request, response) {
      const { origin } = request.headers;
      if (origin === undefined) return;
      response.setHeader('access-control-allow-origin', origin);
      response.setHeader('vary', 'Origin');
      response.setHeader('access-control-expose-headers', EXPOSED);
    },
  };
}
