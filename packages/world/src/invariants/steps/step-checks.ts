// SPDX-License-Identifier: Apache-2.0
/** What must hold at every moment, by subject. A breach is a sentence that begins with the name of the invariant; each is reported once. */
import { attachmentChecks } from './attachments.ts';
import { callChecks } from './calls.ts';
import { growthChecks } from './growth.ts';
import { snapshotChecks } from './snapshots.ts';
import type { Check, Findings, Stage } from './stage.ts';
import { volumeChecks } from './volumes.ts';

const subjects = [callChecks, volumeChecks, attachmentChecks, growthChecks, snapshotChecks];

export interface StepChecks extends Required<Check>, Findings {
  readonly breaches: () => readonly string[];
}

export function createStepChecks(stage: Stage): StepChecks {
  const { server, driver } = stage;
  const breaches = new Set<string>();
  const findings: Findings = {
    breach: (text) => void breaches.add(text),
    orphaned: new Set(),
    retained: new Set(),
    denied: new Set(),
    bornLate: new Set(),
  };
  const checks: readonly Check[] = stage.isChecked ? subjects.map((create) => create(stage, findings)) : [];
  let revision = 0;
  let calls = 0;
  let last = server.requests.at(-1);
  return {
    ...findings,
    breaches: () => [...breaches],
    beforeCall: (call) => checks.forEach((check) => check.beforeCall?.(call)),
    answered: (answer) => checks.forEach((check) => check.answered?.(answer)),
    heard: (answer) => checks.forEach((check) => check.heard?.(answer)),
    afterCall: (call) => checks.forEach((check) => check.afterCall?.(call)),
    afterDeath: (process) => checks.forEach((check) => check.afterDeath?.(process)),
    look() {
      const request = server.requests.at(-1);
      const isCalled = driver.calls.length !== calls;
      const changes = server.revision() - revision;
      if (!isCalled && changes === 0 && request === last) return;
      // A third of all writes renew a Lease.
      const isRenewal = !isCalled && changes === 1 && request !== last && request?.resource === 'leases';
      revision += changes;
      calls = driver.calls.length;
      last = request;
      for (const check of checks) check.lookAtLeases?.();
      if (!isRenewal) for (const check of checks) check.look?.();
    },
    lookAtLeases: () => checks.forEach((check) => check.lookAtLeases?.()),
  };
}
