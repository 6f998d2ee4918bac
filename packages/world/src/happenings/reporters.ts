// SPDX-License-Identifier: Apache-2.0
/** Stories with programs that only report: what changes what they report, and what meets other programs meets them. */
import type { ReporterName } from '../programs.ts';
import type { Shape } from '../story.ts';
import { faultKinds } from './faults.ts';
import { healthKinds } from './health.ts';
import { kind, type HappeningKind, type Kinds } from './kind.ts';
import { leaderOf } from './moments.ts';
import { moreFaultKinds, podOf } from './more-faults.ts';
import { sourceKindsOfUsers } from './sources.ts';

const known: Kinds = { ...faultKinds, ...moreFaultKinds };
const how = ['requestsFail', 'watchLags', 'answersAreLost', 'startsWithLateLists', 'watchesArePutOff'];

interface Reach {
  readonly resources: readonly string[];
  readonly writes: readonly string[];
}

/** What a program watches and writes. */
const reaches: Readonly<Record<ReporterName, Reach>> = {
  'csi-external-health-monitor-controller': {
    resources: ['', 'persistentvolumes', 'persistentvolumeclaims'],
    writes: ['* *', 'patch persistentvolumeclaims/status'],
  },
  'volume-data-source-validator': {
    resources: ['', 'volumepopulators', 'persistentvolumeclaims'],
    writes: ['* *', 'write events', 'create events'],
  },
};

/** The faults that others meet, aimed at this program. */
function faultOf(program: ReporterName): HappeningKind {
  const { resources, writes } = reaches[program];
  return kind({
    weight: 12,
    draw: (dice, shape) => {
      const fault = dice.pick(how);
      const drawn = known[fault]!.draw(dice, shape);
      const resource = dice.pick(resources);
      return { ...drawn, resource, ...(fault === 'requestsFail' ? { what: dice.pick(writes) } : {}), program, fault };
    },
    act: (world, { fault, ...args }) =>
      known[fault]!.act(world, { ...args, who: podOf(world, program), program: podOf(world, program) }),
  });
}

function standstillOf(program: ReporterName): HappeningKind {
  return kind({
    weight: 4,
    draw: (dice) => ({ ms: dice.pick([2_000, 12_000, 20_000, 40_000]) }),
    act: (world, { ms }) => {
      world.timeLine.note(program, `stands still for ${ms} ms`);
      leaderOf(world, program)?.process()?.suspend(ms);
    },
  });
}

const ofHealth: Kinds = {
  ...healthKinds,
  monitorMeets: faultOf('csi-external-health-monitor-controller'),
  monitorStandsStill: standstillOf('csi-external-health-monitor-controller'),
};
const ofSources: Kinds = {
  ...sourceKindsOfUsers,
  validatorMeets: faultOf('volume-data-source-validator'),
  validatorStandsStill: standstillOf('volume-data-source-validator'),
};

export const reporterKinds: Kinds = { ...ofHealth, ...ofSources };

export function reporterKindsOf({ health, validator }: Pick<Shape, 'health' | 'validator'>): Kinds {
  return { ...(health === undefined ? {} : ofHealth), ...(validator === undefined ? {} : ofSources) };
}
