// SPDX-License-Identifier: Apache-2.0
import { type Code, codeNames } from '@csi-sidecars/csi';
import { describe, expect, it } from 'vitest';
import { context, pinned } from '../../testing/claim-states.ts';
import { type ErrorFacts, toErrorOutcome, toResponseOutcome } from './outcome.ts';

const sent = { ...pinned, driverName: context.driver.name };

type ErrorCode = Exclude<Code, 'OK'>;
const outcome = (
  code: ErrorCode | undefined,
  facts: { mayReschedule?: boolean; wasUnsettled?: boolean } = {},
): string => {
  const found = toErrorOutcome({
    code,
    message: 'm',
    isAnswer: true,
    mayReschedule: false,
    wasUnsettled: false,
    ...facts,
  });
  return found.kind === 'final' && !found.isSettled ? 'final, not settled' : found.kind;
};
const rowOf = (code: ErrorCode | undefined, facts: Partial<ErrorFacts> = {}): string =>
  toErrorOutcome({ code, message: 'm', isAnswer: true, mayReschedule: false, wasUnsettled: false, ...facts }).row;

describe('errors of CreateVolume', () => {
  it('given every code, when judged, then the outcome is that of the table', () => {
    const found = codeNames.filter((code) => code !== 'OK').map((code) => [code, outcome(code)]);
    expect(Object.fromEntries(found)).toEqual({
      Canceled: 'ambiguous',
      Unknown: 'final',
      InvalidArgument: 'infeasible',
      DeadlineExceeded: 'ambiguous',
      NotFound: 'final',
      AlreadyExists: 'final',
      PermissionDenied: 'final',
      ResourceExhausted: 'final',
      FailedPrecondition: 'final',
      Aborted: 'ambiguous',
      OutOfRange: 'final',
      Unimplemented: 'final',
      Internal: 'final',
      Unavailable: 'ambiguous',
      DataLoss: 'final',
      Unauthenticated: 'final',
    });
  });

  it('given every kind of error, when judged, then the row is that of the table', () => {
    expect([rowOf(undefined), rowOf('Aborted')]).toEqual(['O1', 'O1']);
    expect(rowOf('ResourceExhausted', { mayReschedule: true })).toBe('O2');
    expect(rowOf('InvalidArgument')).toBe('O3');
    expect(rowOf('Internal', { wasUnsettled: true })).toBe('O4');
    expect([rowOf('Internal'), rowOf('ResourceExhausted'), rowOf('OutOfRange', { wasUnsettled: true })]).toEqual([
      'O5',
      'O5',
      'O5',
    ]);
  });

  it('[provisioner#47] given ResourceExhausted, when another node may be chosen, then reschedule; otherwise final', () => {
    expect(outcome('ResourceExhausted', { mayReschedule: true })).toBe('reschedule');
    expect(outcome('ResourceExhausted')).toBe('final');
    expect(outcome('Internal', { mayReschedule: true })).toBe('final');
  });

  it('[provisioner#57] given a failure that is not a gRPC status, when judged, then ambiguous, whatever its text', () => {
    expect(outcome(undefined)).toBe('ambiguous');
    expect(outcome('Code(77)')).toBe('final');
  });

  it('given something was outstanding, when judged, then only a refusal of the request itself settles it', () => {
    const codes = codeNames.filter((code) => code !== 'OK');
    const settling = codes.filter((code) => ['final', 'infeasible'].includes(outcome(code, { wasUnsettled: true })));
    expect(settling).toEqual(['InvalidArgument', 'ResourceExhausted', 'OutOfRange', 'Unimplemented']);
    expect(outcome('Code(77)', { wasUnsettled: true })).toBe('final, not settled');
  });
});

describe('responses of CreateVolume', () => {
  const volume = { volume_id: 'v', volume_context: {}, content_source: null, accessible_topology: [] };
  const judge = (capacity: string, id = 'v'): unknown => {
    const found = toResponseOutcome({ ...volume, volume_id: id, capacity_bytes: capacity }, sent);
    return found.kind === 'made' ? found.bytes : `${found.kind}: ${'message' in found ? found.message : ''}`;
  };

  it('[provisioner#62,66] given 0 bytes or more than requested, when judged, then the requested size or exactly the reported', () => {
    expect([judge('0'), judge('100'), judge('9223372036854775807')]).toEqual([100n, 100n, 9223372036854775807n]);
  });

  it('given every kind of response, when judged, then the row is that of the table', () => {
    const rows = (['0', '1', '100'] as const).map(
      (bytes) => toResponseOutcome({ ...volume, capacity_bytes: bytes }, sent).row,
    );
    expect([toResponseOutcome(null, sent).row, ...rows]).toEqual(['O6', 'O7', 'O8', 'O9']);
  });

  it('given a volume that is large enough, when judged, then the volume is part of the outcome', () => {
    const created = { ...volume, capacity_bytes: '100' };
    expect(toResponseOutcome(created, sent)).toEqual({ row: 'O9', kind: 'made', volume: created, bytes: 100n });
    const unsized = { ...volume, capacity_bytes: '0' };
    expect(toResponseOutcome(unsized, sent)).toEqual({ row: 'O7', kind: 'made', volume: unsized, bytes: 100n });
  });

  it('given a volume_id, when judged, then 16,384 bytes are accepted, and none or more are malformed', () => {
    const rowOfId = (id: string): string =>
      toResponseOutcome({ ...volume, volume_id: id, capacity_bytes: '0' }, sent).row;
    expect(['', 'x'.repeat(16_384), 'x'.repeat(16_385), 'é'.repeat(8_193)].map(rowOfId)).toEqual([
      'O6',
      'O7',
      'O6',
      'O6',
    ]);
  });

  it('[csi-spec#3] given a size of 0, when judged, then it is unknown: never too small', () => {
    expect([judge('0'), judge('1')]).toEqual([
      100n,
      'unusable: created volume capacity 1 less than requested capacity 100',
    ]);
  });

  it('[O10] given a copy of a source, when the answer names no content source, then it is unusable, unless that is not asked for', () => {
    const copy = { ...volume, capacity_bytes: '0' };
    const named = { ...copy, content_source: { volume: { volume_id: 'other' } } };
    const asked = { ...sent, isConfirmed: true };
    const message = 'volume content source missing';
    const missing = { row: 'O10', kind: 'unusable', message, volumeId: 'v', attributes: {} };
    expect(toResponseOutcome(copy, asked)).toEqual(missing);
    expect([toResponseOutcome(named, asked).row, toResponseOutcome(copy, sent).row]).toEqual(['O7', 'O7']);
    expect(toResponseOutcome({ ...copy, capacity_bytes: '1' }, asked).row).toBe('O8');
  });

  it.each([
    { driverName: 'pd.csi.storage.gke.io', id: 'projects/p/zones/z/disks/d', row: 'O6' },
    { driverName: 'pd.csi.storage.gke.io', id: 'projects/p/zones/z/disks/e', row: 'O7' },
    { driverName: 'pd.csi.storage.gke.io', id: 'odd', row: 'O7' },
    { driverName: 'other.example.com', id: 'projects/p/zones/z/disks/d', row: 'O7' },
  ])(
    '[O6] given a clone of an in-tree volume, when $driverName answers $id, then $row: its own source is no answer',
    ({ driverName, id, row }) => {
      const source = { volume: { volume_id: 'projects/UNSPECIFIED/zones/z/disks/d' } };
      const request = { ...sent.request, volume_content_source: source };
      const answer = { ...volume, volume_id: id, capacity_bytes: '0' };
      expect(toResponseOutcome(answer, { ...sent, request, driverName }).row).toBe(row);
    },
  );

  it.each(['80', '-1'])('given %s of 100 bytes, when judged, then it is too small', (bytes) => {
    expect(judge(bytes)).toBe(`unusable: created volume capacity ${bytes} less than requested capacity 100`);
  });

  it('given no volume, no id or a monstrous id, when judged, then the response is malformed', () => {
    expect([toResponseOutcome(null, sent).kind, judge('0', ''), judge('0', 'x'.repeat(20_000))]).toEqual([
      'malformed',
      'malformed: CreateVolume response has an empty volume_id',
      'malformed: CreateVolume response has a volume_id of more than 16384 bytes',
    ]);
  });

  it('[O8] given a volume that is too small, when judged, then what the driver says of it is part of the outcome', () => {
    const small = { ...volume, capacity_bytes: '1', volume_context: { pool: 'a' } };
    expect(toResponseOutcome(small, sent)).toEqual({
      row: 'O8',
      kind: 'unusable',
      message: 'created volume capacity 1 less than requested capacity 100',
      volumeId: 'v',
      attributes: { pool: 'a' },
    });
  });

  it('given a request without a source, when the driver answers any id, then it is not that of a source', () => {
    const answer = { ...volume, volume_id: 'mutated', capacity_bytes: '0' };
    expect(toResponseOutcome(answer, sent).row).toBe('O7');
  });
});
