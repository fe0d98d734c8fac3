import { defineErrors } from '@daybook/runtime';

export const blobErrors = defineErrors('BLOB', {
  NOT_FOUND: { retry: 'never', text: (name: string) => `there is no blob "${name}"` },
  NO_UPLOAD: {
    retry: 'never',
    text: (uploadId: string) => `there is no upload ${uploadId}: it was finished, aborted or removed as abandoned; put the blob again`,
  },
  INTERRUPTED: {
    retry: 'later',
    text: (name: string, uploadId: string, bytes: number, why: string) =>
      `the upload of "${name}" was interrupted: resume upload ${uploadId} from byte ${bytes} on, or put the blob again. Cause: ${why}`,
  },
  UPLOAD_TAKEN: { retry: 'never', text: (uploadId: string) => `upload ${uploadId} was resumed by somebody else: this one must stop` },
  UPLOAD_CLOSED: { retry: 'never', text: (uploadId: string) => `upload ${uploadId} takes no more bytes: it was finished, aborted or has failed` },
  GONE: { retry: 'later', text: (name: string) => `blob "${name}" was deleted or replaced while it was read: read it again from the beginning` },
  CORRUPT: { retry: 'never', text: (name: string, why: string) => `blob "${name}" is damaged: ${why}. Put it again from its source` },
  BAD_RANGE: {
    retry: 'never',
    text: (name: string, offset: number, bytes: number) => `blob "${name}" has ${bytes} bytes, it cannot be read from byte ${offset} on`,
  },
  BAD_OPTIONS: { retry: 'never', text: (why: string) => `these options of a blob cannot be: ${why}` },
  MALFORMED: { retry: 'never', text: (path: string, why: string) => `the record at ${path} cannot be read: ${why}` },
  CONTENDED: { retry: 'later', text: (name: string) => `blob "${name}" is being replaced by others all the time: try again` },
});
