/** A refused or failed call; `status` is the HTTP status of a refusal, `code` what a program should look at. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly code: ClientErrorCode;
  readonly status: number | undefined;
  constructor(code: ClientErrorCode, text: string, status?: number) {
    super(text);
    this.code = code;
    this.status = status;
  }
}

/**
 * `REFUSED`: the server said no (look at `status`), trying again will not help. `SEND_FAILED`: this message was not stored, the socket lives on.
 * `UNREACHABLE`: no connection. `CLOSED`: closed by this program, or by the server for good.
 */
export type ClientErrorCode = 'REFUSED' | 'SEND_FAILED' | 'UNREACHABLE' | 'CLOSED' | 'BAD_ARGUMENT';
