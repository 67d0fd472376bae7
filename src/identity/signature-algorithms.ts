// Signatures anyone can check and only the issuer can make. No HMAC: its secret would be shared with us, and
// everyone who verifies could also sign (T13).
export const SIGNATURE_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;
