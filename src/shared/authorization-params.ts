/**
 * What the proxy alone writes into an authorization request (RFC 6749 §4.1.1, RFC 7636 §4.3, RFC 8707 §2, RFC 9101
 * §5): whoever else could set them could undo PKCE, state or audience.
 */
export const AUTHORIZATION_PARAMS = [
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'redirect_uri',
  'request',
  'request_uri',
  'resource',
  'response_mode',
  'response_type',
  'scope',
  'state',
] as const;
