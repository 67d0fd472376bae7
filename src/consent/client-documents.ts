// What authorization servers may read about us: the client-id metadata document (2026-07-28 §authorization,
// client registration) and the public half of our key. One document for each connection context, because
// it has to name the one redirect URI that is used there.
import { type Request, Router } from 'express';

export interface ClientDocumentsDeps {
  readonly publicUrl: () => string;
  readonly publicJwks: () => Promise<{ readonly keys: readonly Readonly<Record<string, unknown>>[] }>;
}

/** As `contextIdOf` makes them. A context that nobody uses gives a document that nobody can use. */
const CONTEXT = /^[A-Za-z0-9_-]{22}$/;

export function createClientDocuments({ publicUrl, publicJwks }: ClientDocumentsDeps): Router {
  const router = Router({ caseSensitive: true });
  const base = (): string => publicUrl().replace(/\/+$/, '');

  router.get('/oauth/client-metadata.json', (request: Request, response) => {
    const { context, auth } = request.query;
    const isKnown = typeof context === 'string' && CONTEXT.test(context);
    if ((context !== undefined && !isKnown) || (auth !== undefined && auth !== 'none')) {
      response.status(404).json({ error: 'not_found', message: 'There is no such client.' });
      return;
    }
    const isPublic = auth === 'none';
    const clientId = `${base()}/oauth/client-metadata.json${isKnown ? `?context=${context}${isPublic ? '&auth=none' : ''}` : ''}`;
    response.set('cache-control', 'public, max-age=3600');
    response.json({
      // Equal to the address it was read from, or nobody believes it.
      client_id: clientId,
      client_name: 'Keybearer',
      client_uri: base(),
      redirect_uris: [`${base()}/oauth/callback${isKnown ? `/${context}` : ''}`],
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
  });

  router.get('/oauth/jwks.json', async (_request, response) => {
    response.set('cache-control', 'public, max-age=3600');
    response.json(await publicJwks());
  });
  return router;
}
