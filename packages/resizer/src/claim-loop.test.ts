// SPDX-License-Identifier: Apache-2.0
import type { EventRecorder } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aClaim } from '../testing/builders.ts';
import { type Claim, claimKey } from './claim.ts';
import { endRun } from './claim-loop.ts';
import { createClaimMemory } from './claim-memory.ts';
import { createOpenCalls } from './open-calls.ts';
import { createOwnWrites } from './own-writes.ts';
import { createVolumeTurns } from './volume-turns.ts';

const key = claimKey(aClaim());
const entry = { kind: 'settled', uid: 'uid-of-data' } as const;

function ended(claim: Claim | undefined) {
  const memory = createClaimMemory<typeof entry>();
  const context = {
    memory,
    ownWrites: createOwnWrites(),
    openCalls: createOpenCalls({ clock: new FakeClock(), logger: recordingLogger() }),
    turns: createVolumeTurns(),
    events: {} as EventRecorder,
  };
  memory.set(key, entry);
  endRun(context, 'expand', { key, caches: { claims: { get: () => claim } }, concluded: undefined });
  return memory.get(key, entry.uid);
}

it('P6: given a claim that went during the run, when the run ends, then nothing of it stays in memory', () => {
  expect([ended(undefined), ended(aClaim())]).toEqual([undefined, entry]);
});
