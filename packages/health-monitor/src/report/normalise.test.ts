// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { limits, normalise, type ReportedEntries } from './normalise.ts';

const entry = (facts: Partial<ReportedEntries[number]> = {}): ReportedEntries[number] => ({
  status: 'DEGRADED',
  reason: 'Slow',
  message: '',
  ...facts,
});
const bytesOf = (text: string | undefined): number => Buffer.byteLength(text ?? '');

it('[health-monitor#21] given an empty message, then the condition has no message', () => {
  expect(normalise([entry()]).conditions).toEqual([{ status: 'Degraded', reason: 'Slow' }]);
});

it('[health-monitor#22] given an empty reason, then the reason is Unspecified, and the message stays', () => {
  expect(normalise([entry({ reason: '', message: 'm' })]).conditions).toEqual([
    { status: 'Degraded', reason: 'Unspecified', message: 'm' },
  ]);
});

it.each([
  ['one byte a character', 'x', 1_024],
  ['two bytes a character', 'é', 1_024],
  ['three bytes a character', '語', 1_023],
  ['four bytes a character', '🙂', 1_024],
])('[health-monitor#23] given texts that are too long, of %s, then they end at whole characters', (_, letter, end) => {
  const long = letter.repeat(5_000);
  const [condition] = normalise([entry({ reason: 'x'.repeat(300), message: long })]).conditions;
  expect([condition?.reason, bytesOf(condition?.message)]).toEqual(['x'.repeat(256), end]);
  expect(condition?.message?.replaceAll(letter, '')).toBe('');
});

it.each([
  ['disk-failed', 'disk_failed'],
  ['Disk failed!', 'Disk_failed_'],
  ['5xxErrors', 'Reason_5xxErrors'],
  ['_private', 'Reason__private'],
  ['A,B:', 'A,B_'],
  ['ReasonA:ReasonB', 'ReasonA:ReasonB'],
  [`${'x'.repeat(255)}:y`, `${'x'.repeat(255)}_`],
  ['語', 'Reason__'],
])('given the reason %j, which the API server refuses or not, then %j is stored', (reason, stored) => {
  expect(normalise([entry({ reason })]).conditions[0]?.reason).toBe(stored);
});

it('given texts of exactly the greatest length, then they stay as they are', () => {
  const given = { reason: 'r'.repeat(limits.reasonBytes), message: 'm'.repeat(limits.messageBytes) };
  expect(normalise([entry(given)]).conditions).toEqual([{ status: 'Degraded', ...given }]);
});

it('[health-monitor#24] given entries with one status and reason, then the first message is kept, and the others are counted', () => {
  const { conditions, doubles } = normalise([
    entry({ message: 'first' }),
    entry({ message: 'second' }),
    entry({ status: 'DATA_LOSS' }),
    entry({ message: 'third' }),
  ]);
  expect(conditions).toEqual([
    { status: 'DataLoss', reason: 'Slow' },
    { status: 'Degraded', reason: 'Slow', message: 'first' },
  ]);
  expect(doubles).toBe(2);
});

it('given reasons that are equal only after they were cut, then one of them is kept', () => {
  const reason = 'r'.repeat(limits.reasonBytes);
  expect(normalise([entry({ reason: `${reason}a` }), entry({ reason: `${reason}b` })])).toMatchObject({
    conditions: [{ reason }],
    doubles: 1,
  });
});

it('[health-monitor#25] given twenty entries, then the sixteen most severe are kept, the same ones in every order', () => {
  const many = (status: ReportedEntries[number]['status'], count: number) =>
    Array.from({ length: count }, (_, n) => entry({ status, reason: `R${String(n).padStart(2, '0')}` }));
  const all = [...many('DEGRADED', 12), ...many('DATA_LOSS', 4), ...many('INACCESSIBLE', 4)];
  const { conditions } = normalise(all);
  const countOf = (status: string) => conditions.filter((condition) => condition.status === status).length;
  expect([countOf('Inaccessible'), countOf('DataLoss'), countOf('Degraded')]).toEqual([4, 4, 8]);
  expect(conditions.filter(({ status }) => status === 'Degraded').map(({ reason }) => reason)).toEqual(
    Array.from({ length: 8 }, (_, n) => `R0${n}`),
  );
  expect(normalise(all.toReversed()).conditions).toEqual(conditions);
});

it('[health-monitor#32] given control characters, line ends and halves of characters, then they are replaced', () => {
  const { conditions, unknown } = normalise([
    entry({ reason: 'a\nb', message: 'x\u001b[31m\r\ny\u0000\ud83d' }),
    entry({ status: 99, reason: 'c\td', message: '\u2028e' }),
  ]);
  expect(conditions).toEqual([{ status: 'Degraded', reason: 'a_b', message: 'x [31m  y \ufffd' }]);
  expect(unknown).toEqual([{ status: '99', reason: 'c_d', message: ' e' }]);
});
