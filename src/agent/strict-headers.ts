// What browsers are told with every answer that is not MCP, whoever writes it: pages, the admin API, documents,
// errors. A route may loosen one of these for itself, and says so there.
import type { RequestHandler } from 'express';
import helmet from 'helmet';
import { contentPolicy } from '../shared/content-policy.ts';

const CONTENT_POLICY = contentPolicy();

/** Without the domains below ours, which are not ours to speak for. */
const HTTPS_ONLY = 'max-age=31536000';

export function strictHeaders(publicUrl: () => string): RequestHandler {
  const common = helmet({
    contentSecurityPolicy: false, // Ours follows: a page may have to write it anew, in the same words.
    strictTransportSecurity: false, // Meaningless over http, so by the public URL, which is known late.
    // Addresses hold tickets, codes and states.
    referrerPolicy: { policy: 'no-referrer' },
    xFrameOptions: { action: 'deny' },
  });
  return (request, response, next) => {
    response.set('Content-Security-Policy', CONTENT_POLICY);
    response.set('Cache-Control', 'no-store');
    if (publicUrl().startsWith('https:')) response.set('Strict-Transport-Security', HTTPS_ONLY);
    common(request, response, next);
  };
}
