// SPDX-License-Identifier: Apache-2.0
/** Part driver: calls that end because the program waits less than the driver needs. */
import { type Check, driverCheck, factOf, type Judgement, problem, textOf } from '../check.ts';
import { programFlags } from '../readings/arguments.ts';
import type { DriverFacts, EventFacts, Readings } from '../readings/facts.ts';
import { running } from '../readings/sidecars.ts';
import { durationOf } from './leases.ts';
import { flagFact, yamlOf } from './wording.ts';

const enoughMs = 15_000;
const recentMs = 3_600_000;
const deadlineExceeded = 4;

const programs = { ProvisioningFailed: 'csi-provisioner', FailedAttachVolume: 'csi-attacher' } as const;

type Objects = Pick<Readings, 'claims' | 'attachments'>;

/** Whose event it is, by the claim that waits for a volume, or the volume that is to be attached. */
function belongsTo({ name }: DriverFacts, { claims, attachments }: Objects): (event: EventFacts) => boolean {
  const own = claims.filter(({ provisioner }) => provisioner === name);
  const waiting = new Set(own.map((claim) => `${claim.namespace}/${claim.name}`));
  const volumes = new Set(attachments.filter(({ driver }) => driver === name).map(({ volume }) => volume));
  return ({ object, component, text }) => {
    if (component === name || component.startsWith(`${name}_`)) return true;
    if (object.kind === 'PersistentVolumeClaim') return waiting.has(`${object.namespace}/${object.name}`);
    const [, volume] = /for volume "([^"]+)"/.exec(text) ?? [];
    return volume !== undefined && volumes.has(volume);
  };
}

const tooShort: Check = driverCheck({
  id: 'driver-13',
  severity: 'warn',
  wrong: 'calls of the last hour ended again and again at the deadline, and --timeout is below 15 seconds',
  mend: 'raise --timeout',
  reads: ['workloads', 'events', 'claims', 'attachments'],
  judge: (driver, { workloads, events, claims, attachments }, { nowMs }) => {
    const isOwn = belongsTo(driver, { claims, attachments });
    return Object.entries(programs).flatMap(([reason, program]): readonly Judgement[] => {
      const place = running(workloads.of(driver.name), program).find(
        ({ sidecar }) => sidecar.arguments.isWhole && (durationOf(sidecar, 'timeout') ?? defaultOf(program)) < enoughMs,
      );
      const own = events.filter(
        (event) =>
          event.reason === reason &&
          event.code === deadlineExceeded &&
          event.lastMs !== undefined &&
          nowMs - event.lastMs < recentMs &&
          isOwn(event),
      );
      const count = own.reduce((sum, each) => sum + each.count, 0);
      const [first] = own;
      if (place === undefined || first === undefined || count < 2) return [];
      return [
        problem(`${count} calls of ${program} to ${driver.name} ended at a deadline of less than 15 seconds`, {
          program,
          objects: own.map(({ object }) => object),
          evidence: [
            factOf(`event of ${textOf(first.object)}`, 'message', first.text),
            flagFact(place.workload, place.sidecar, 'timeout'),
          ],
          look: yamlOf(place.workload.object),
        }),
      ];
    });
  },
});

function defaultOf(program: (typeof programs)[keyof typeof programs]): number {
  return Number(programFlags[program].flags['timeout']?.defaultValue);
}

export const timeoutChecks: readonly Check[] = [tooShort];
