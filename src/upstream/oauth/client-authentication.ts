// How we prove ourselves to an authorization server (RFC 6749 §2.3, RFC 7523).
import { type ClientAuth, ClientSecretPost, modifyAssertion, None, PrivateKeyJwt } from 'openid-client';
import type { OAuthClient } from '../../credential/authorization-server.ts';
import type { Secret } from '../../shared/secret.ts';

export interface AuthenticationPlace {
  readonly issuer: string;
  readonly tokenAuthMethods: readonly string[] | undefined;
}

export function authenticationOf({ authentication }: OAuthClient, place: AuthenticationPlace): ClientAuth {
  switch (authentication.kind) {
    case 'none':
      return None();
    case 'secret':
      return chooseMethod(authentication.method, place.tokenAuthMethods) === 'client_secret_post'
        ? ClientSecretPost(authentication.secret.reveal())
        : basic(authentication.secret);
    case 'key':
      return PrivateKeyJwt(
        { key: authentication.privateKey, kid: authentication.keyId },
        {
          [modifyAssertion](_header, payload) {
            // The issuer and nothing else: an assertion for a token endpoint's address is good at whoever
            // can name that address in metadata of their own (T2, audience injection).
            payload['aud'] = place.issuer;
          },
        },
      );
  }
}

type SecretMethod = 'client_secret_basic' | 'client_secret_post';

/** The one wished for, unless the server lists only the other. */
function chooseMethod(wished: SecretMethod, offered: readonly string[] | undefined): SecretMethod {
  const other: SecretMethod = wished === 'client_secret_basic' ? 'client_secret_post' : 'client_secret_basic';
  return offered !== undefined && !offered.includes(wished) && offered.includes(other) ? other : wished;
}

/**
 * Form-encoded before Base64 (RFC 6749 §2.3.1), and no character more than the form needs: the library's
 * own writes `-`, `_` and `.` as escapes too, which servers that do not decode take for another secret.
 */
function basic(secret: Secret): ClientAuth {
  return (_server, { client_id: id }, _body, headers) => {
    const credentials = `${formEncode(id)}:${formEncode(secret.reveal())}`;
    headers.set('authorization', `Basic ${Buffer.from(credentials, 'latin1').toString('base64')}`);
  };
}

const formEncode = (text: string): string => new URLSearchParams({ v: text }).toString().slice('v='.length);
