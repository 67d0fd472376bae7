// Where a server's requests go and which headers every one of them carries.
import type { CredentialSpec, HttpTransport } from '../catalog/upstream-server.ts';
import type { Credential } from '../credential/credential.ts';
import { ProxyError } from '../shared/errors.ts';
import { Echo } from './echo.ts';
import { knownSecrets } from './known-secrets.ts';

export class HttpTarget {
  readonly origin: string;
  readonly path: string;
  /** Takes what the server repeats of these headers out of what it says. */
  readonly echo: Echo;
  /** A key of somebody's, or a header of the admin's, which may be one. */
  readonly carriesCredential: boolean;
  /** Out of sight of whatever prints an object: the credential stands in it. */
  readonly #headers: readonly string[];

  constructor(url: URL, plain: readonly string[], identity: readonly string[], echo: Echo) {
    this.origin = url.origin;
    this.path = url.pathname + url.search;
    this.carriesCredential = identity.length > 0;
    this.#headers = [...plain, ...identity];
    this.echo = echo;
  }

  /** Flat list of names and values: content type, the admin's static headers, the credential. */
  get headers(): readonly string[] {
    return this.#headers;
  }
}

const PLAIN = [
  'content-type',
  'application/json',
  'accept',
  'application/json, text/event-stream',
  'accept-encoding',
  'identity',
];
const SENDABLE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/** The credential's header and value. Throws `internal` without quoting a value that cannot be a header. */
export function credentialHeader(
  spec: CredentialSpec | undefined,
  credential: Credential,
): readonly [string, string] | undefined {
  if (credential.kind === 'none' || spec === undefined) return undefined;
  const value = spec.scheme === '' ? credential.secret.reveal() : `${spec.scheme} ${credential.secret.reveal()}`;
  // Checked here because Node's own error would quote the value.
  if (!SENDABLE.test(value)) throw new ProxyError('internal', 'The stored credential cannot be sent as a header.');
  return [spec.header, value];
}

/** Static headers and the credential, the credential winning over a static header of its name (RFC 9110 §5.1). */
export function identityHeaders(
  transport: HttpTransport,
  spec: CredentialSpec | undefined,
  credential: Credential,
): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const [name, value] of transport.headers) headers.set(name.toLowerCase(), value.reveal());
  const own = credentialHeader(spec, credential);
  if (own !== undefined) headers.set(own[0].toLowerCase(), own[1]);
  return headers;
}

export function targetOf(
  transport: HttpTransport,
  spec: CredentialSpec | undefined,
  credential: Credential,
): HttpTarget {
  const identity = [...identityHeaders(transport, spec, credential)].flat();
  return new HttpTarget(new URL(transport.url), PLAIN, identity, new Echo(knownSecrets(transport, spec, credential)));
}
