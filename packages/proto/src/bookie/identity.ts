import { Malformed } from '../errors.js';
import { type BookieId, bookieId } from '../ids.js';
import type { WireReader } from '../wire/reader.js';
import { WireWriter } from '../wire/writer.js';

/** Which disks are meant or answer: a bookie's id, and what changes whenever its disks are formatted. Message Identity of bookie.proto. */
export interface BookieIdentity {
  readonly bookieId: BookieId;
  readonly incarnation: string;
}

/** A request with whom it is for: see Identity in bookie.proto. */
export interface Addressed<Request> {
  readonly expected: BookieIdentity;
  readonly request: Request;
}

export function isSameIdentity(a: BookieIdentity, b: BookieIdentity): boolean {
  return a.bookieId === b.bookieId && a.incarnation === b.incarnation;
}

export function writeIdentity(identity: BookieIdentity): WireWriter {
  return new WireWriter(96).string(1, identity.bookieId).string(2, identity.incarnation);
}

export function readIdentity(reader: WireReader): BookieIdentity {
  let id: string | undefined;
  let incarnation: string | undefined;
  while (reader.next()) {
    if (reader.field === 1) id = reader.string();
    else if (reader.field === 2) incarnation = reader.string();
    else reader.skip();
  }
  if (id === undefined || incarnation === undefined) throw new Malformed('an identity lacks its id or incarnation');
  try {
    return { bookieId: bookieId(id), incarnation };
  } catch {
    throw new Malformed(`"${id}" is no bookie id`);
  }
}
