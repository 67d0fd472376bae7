// A refusal as RFC 6749 §5.2 writes it.
export class OAuthError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, status = 400) {
    super(code);
    this.code = code;
    this.status = status;
  }
}
