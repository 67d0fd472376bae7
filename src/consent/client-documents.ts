// What authorization servers may read about us: client-id metadata documents (2026-07-28 §authorization,
// client registration) and the public half of our key. One document for each connection context, because it
// has to name the one redirect URI that is used there; and by its path, as client ids should have no query.
import { type Request, Router } from 'express';

export interface ClientDocumentsDeps {
  readonly publicUrl: () => string;
  readonly publicJwks: () => Promise<{ readonly keys: readonly Readonly<Record<string, unknown>>[] }>;
}

/** `contextIdOf`, and whether it is for servers that take only clients without a secret. */
const DOCUMENT = /^([A-Za-z0-9_-]{22})(-public)?\.json$/;

export function createClientDocuments({ publicUrl, publicJwks }: ClientDocumentsDeps): Router {
  const router = Router({ caseSensitive: true });
  const base = (): string => publicUrl().replace(/\/+$/, '');

  /** Its `client_id` is the address it was read from, or nobody would believe it. */
  const documentAt = (path: string, redirectPath: string, isPublic: boolean): Readonly<Record<string, unknown>> => ({
    client_id: `${base()}${path}`,
    client_name: 'Keybearer',
    client_uri: base(),
    redirect_uris: [`${base()}${redirectPath}`],
    application_type: 'web',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    ...(isPublic
      ? { token_endpoint_auth_method: 'none' }
      : {
          token_endpoint_auth_method: 'private_key_jwt',
          token_endpoint_auth_signing_alg: 'ES256',
          jwks_uri: `${base()}/oauth/jwks.json`,
        }),
  });

  /** What they all have in common; nobody signs in with this one. */
  router.get('/oauth/client-metadata.json', (_request, response) => {
    response.set('cache-control', 'public, max-age=3600');
    response.json(documentAt('/oauth/client-metadata.json', '/oauth/callback', false));
  });

  router.get('/oauth/client-metadata/:file', (request: Request<{ file: string }>, response) => {
    const { file } = request.params;
    const [, context, isPublic] = DOCUMENT.exec(file) ?? [];
    if (context === undefined) {
      response.status(404).json({ error: 'not_found', message: 'There is no such client.' });
      return;
    }
    // A context that nobody uses gives a document that nobody can use.
    response.set('cache-control', 'public, max-age=3600');
    const path = `/oauth/client-metadata/${file}`;
    response.json(documentAt(path, `/oauth/callback/${context}`, isPublic !== undefined));
  });

  router.get('/oauth/jwks.json', async (_request, response) => {
    const keys = await publicJwks();
    response.set('cache-control', 'public, max-age=3600').json(keys);
  });
  return router;
}
