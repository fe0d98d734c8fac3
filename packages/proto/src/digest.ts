import { createHmac } from 'node:crypto';
import { crc32, crc32c } from '@daybook/runtime';
import { headerCrc32c } from './header-crc32c.js';
import type { DigestType } from './ledger-metadata.js';
import { macKey } from './master-key.js';
import { readUint32, writeUint32 } from './wire/int64.js';

/**
 * The checksum of an entry, between its header and its payload, over both.
 *
 * | type | bytes | value |
 * |---|---|---|
 * | CRC32C | 4 | CRC-32C (Castagnoli); the default |
 * | CRC32 | 8 | four zero bytes, CRC-32 (zlib) |
 * | HMAC | 20 | HMAC-SHA1 with key SHA1("mac" + password); about 6 us an entry |
 * | DUMMY | 0 | nothing is checked |
 *
 * One object per ledger, shared by all its entries. Offsets are in bytes from the start of the array; the digest's place is right after the header.
 */
export interface Digest {
  readonly type: DigestType;
  readonly bytes: number;
  /** Puts the digest of `headerBytes` at `headerOffset` and the payload into its place. */
  write(target: Uint8Array, headerOffset: number, headerBytes: number, payloadOffset: number, payloadBytes: number): void;
  verify(source: Uint8Array, headerOffset: number, headerBytes: number, payloadOffset: number, payloadBytes: number): boolean;
}

export function createDigest(type: DigestType, password: Uint8Array): Digest {
  switch (type) {
    case 'CRC32C':
      return crc32cDigest;
    case 'CRC32':
      return crc32Digest;
    case 'HMAC':
      return hmacDigest(macKey(password));
    case 'DUMMY':
      return dummyDigest;
  }
}

function crc32cOf(bytes: Uint8Array, headerOffset: number, headerBytes: number, payloadOffset: number, payloadBytes: number): number {
  const header = headerCrc32c(bytes, headerOffset, headerOffset + headerBytes);
  return payloadBytes === 0 ? header : crc32c(bytes.subarray(payloadOffset, payloadOffset + payloadBytes), header);
}

const crc32cDigest: Digest = {
  type: 'CRC32C',
  bytes: 4,
  write(target, headerOffset, headerBytes, payloadOffset, payloadBytes) {
    writeUint32(target, headerOffset + headerBytes, crc32cOf(target, headerOffset, headerBytes, payloadOffset, payloadBytes));
  },
  verify(source, headerOffset, headerBytes, payloadOffset, payloadBytes) {
    return readUint32(source, headerOffset + headerBytes) === crc32cOf(source, headerOffset, headerBytes, payloadOffset, payloadBytes);
  },
};

function crc32Of(bytes: Uint8Array, headerOffset: number, headerBytes: number, payloadOffset: number, payloadBytes: number): number {
  const header = crc32(bytes.subarray(headerOffset, headerOffset + headerBytes));
  return crc32(bytes.subarray(payloadOffset, payloadOffset + payloadBytes), header);
}

const crc32Digest: Digest = {
  type: 'CRC32',
  bytes: 8,
  write(target, headerOffset, headerBytes, payloadOffset, payloadBytes) {
    const place = headerOffset + headerBytes;
    writeUint32(target, place, 0);
    writeUint32(target, place + 4, crc32Of(target, headerOffset, headerBytes, payloadOffset, payloadBytes));
  },
  verify(source, headerOffset, headerBytes, payloadOffset, payloadBytes) {
    const place = headerOffset + headerBytes;
    if (readUint32(source, place) !== 0) return false;
    return readUint32(source, place + 4) === crc32Of(source, headerOffset, headerBytes, payloadOffset, payloadBytes);
  },
};

function hmacDigest(key: Uint8Array): Digest {
  const macOf = (bytes: Uint8Array, headerOffset: number, headerBytes: number, payloadOffset: number, payloadBytes: number): Buffer =>
    createHmac('sha1', key)
      .update(bytes.subarray(headerOffset, headerOffset + headerBytes))
      .update(bytes.subarray(payloadOffset, payloadOffset + payloadBytes))
      .digest();
  return {
    type: 'HMAC',
    bytes: 20,
    write(target, headerOffset, headerBytes, payloadOffset, payloadBytes) {
      target.set(macOf(target, headerOffset, headerBytes, payloadOffset, payloadBytes), headerOffset + headerBytes);
    },
    verify(source, headerOffset, headerBytes, payloadOffset, payloadBytes) {
      const place = headerOffset + headerBytes;
      return macOf(source, headerOffset, headerBytes, payloadOffset, payloadBytes).equals(source.subarray(place, place + 20));
    },
  };
}

const dummyDigest: Digest = { type: 'DUMMY', bytes: 0, write() {}, verify: () => true };
