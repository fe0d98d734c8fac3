/** Times as texts in UTC, without the process's own calendar: a pure function of milliseconds. */

const dayMs = 86_400_000;

/** `2026-11-29T17:35:44.89Z`: trailing zeros of the fraction are dropped, as Pulsar prints times. */
export function isoTime(epochMs: number): string {
  const second = Math.floor(epochMs / 1000);
  return secondText(second) + fraction(epochMs - second * 1000);
}

let lastSecond = Number.NaN;
let lastText = '';

/** `2026-11-29T17:35:44` of a whole second; the last answer is kept, because messages come in runs of the same second. */
function secondText(second: number): string {
  if (second === lastSecond) return lastText;
  const day = Math.floor(second / 86_400);
  const rest = second - day * 86_400;
  lastSecond = second;
  lastText = `${dateText(day)}T${two(Math.floor(rest / 3600))}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)}`;
  return lastText;
}

function fraction(ms: number): string {
  if (ms === 0) return 'Z';
  const digits = String(ms).padStart(3, '0');
  return `.${ms % 10 !== 0 ? digits : ms % 100 !== 0 ? digits.slice(0, 2) : digits.slice(0, 1)}Z`;
}

/** Civil date of a day number (0 is 1970-01-01), proleptic Gregorian: Hinnant's algorithm. */
function dateText(day: number): string {
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor((dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const dayOfMonth = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return `${yearText(year)}-${two(month)}-${two(dayOfMonth)}`;
}

function yearText(year: number): string {
  const digits = String(Math.abs(year)).padStart(4, '0');
  return year < 0 ? `-${digits}` : year > 9999 ? `+${digits}` : digits;
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}

function dayNumber(year: number, month: number, dayOfMonth: number): number {
  const shiftedYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(shiftedYear / 400);
  const yearOfEra = shiftedYear - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + dayOfMonth - 1;
  return era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468;
}

const daysOfMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDate(year: number, month: number, dayOfMonth: number): boolean {
  if (month < 1 || month > 12 || dayOfMonth < 1) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return dayOfMonth <= (month === 2 && isLeap ? 29 : (daysOfMonth[month - 1] as number));
}

const offsetTime = /^([+-]?\d{4,6})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d\d):(\d\d)(?::(\d\d))?)$/i;

/** Milliseconds since the epoch of an ISO-8601 date and time with an offset (`Z`, `+02:00`), or undefined when the text is none. Cut to the millisecond. */
export function parseOffsetTime(text: string): number | undefined {
  const found = offsetTime.exec(text);
  if (found === null) return undefined;
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map((index) => Number(found[index] ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (/^\d{5}/.test(found[1] as string) || !isDate(year, month, day) || hour > 23 || minute > 59 || second > 59) return undefined;
  const offset = offsetSeconds(found);
  if (offset === undefined) return undefined;
  const ms = Number((found[7] ?? '').slice(0, 3).padEnd(3, '0'));
  return dayNumber(year, month, day) * dayMs + (hour * 3600 + minute * 60 + second - offset) * 1000 + ms;
}

function offsetSeconds(found: RegExpExecArray): number | undefined {
  if (found[8] === undefined) return 0;
  const [hours, minutes, seconds] = [Number(found[9]), Number(found[10]), Number(found[11] ?? 0)];
  const total = hours * 3600 + minutes * 60 + seconds;
  if (minutes > 59 || seconds > 59 || total > 18 * 3600) return undefined;
  return found[8] === '-' ? -total : total;
}
