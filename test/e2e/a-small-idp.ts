// An identity provider that signs everybody in as ada without a word, and each of whose addresses a test may put elsewhere.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { listen, readBody } from '../support/upstreams/listener.ts';
import { sendText } from '../support/upstreams/responses.ts';

export interface SmallIdp {
  /** As it says itself in every document, unless `metadata` has another. */
  readonly issuer: string;
  /** Put over what it says of itself. */
  metadata: Readonly<Record<string, string>>;
  /** Paths in the order they were asked for. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

export async function startSmallIdp(clientId: string): Promise<SmallIdp> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', use: 'sig', alg: 'ES256' };
  const asked: string[] = [];
  let nonce = '';
  const idToken = (): Promise<string> =>
    new SignJWT({ nonce })
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setIssuer(idp.metadata['issuer'] ?? idp.issuer)
      .setSubject('ada')
      .setAudience(clientId)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey);
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(req.url ?? '/', idp.issuer);
    await readBody(req);
    asked.push(pathname);
    const { issuer } = idp;
    const documents: Readonly<Record<string, () => object | Promise<object>>> = {
      '/.well-known/openid-configuration': () => ({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        id_token_signing_alg_values_supported: ['ES256'],
        code_challenge_methods_supported: ['S256'],
        ...idp.metadata,
      }),
      '/token': async () => ({ access_token: 'at', token_type: 'Bearer', id_token: await idToken() }),
      '/jwks': () => ({ keys: [jwk] }),
    };
    const document = documents[pathname];
    if (document !== undefined) return sendText(res, 200, JSON.stringify(await document()));
    nonce = searchParams.get('nonce') ?? '';
    const back = new URL(searchParams.get('redirect_uri') ?? '');
    back.searchParams.set('code', 'code');
    back.searchParams.set('state', searchParams.get('state') ?? '');
    res.writeHead(302, { location: back.href }).end();
  };
  const listener = await listen((req, res) => {
    answer(req, res).catch(() => res.destroy());
  });
  const idp: SmallIdp = {
    issuer: new URL(listener.url).origin,
    metadata: {},
    asked,
    close: () => listener.close(),
  };
  return idp;
}
