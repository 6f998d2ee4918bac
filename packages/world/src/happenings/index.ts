// SPDX-License-Identifier: Apache-2.0
import { adminKinds } from './admins.ts';
import { attachmentKinds } from './attachments.ts';
import { contentKinds } from './contents.ts';
import type { Shape } from '../story.ts';
import { faultKinds } from './faults.ts';
import { growthKinds } from './growth.ts';
import type { HappeningKind, Kinds } from './kind.ts';
import { moreFaultKinds } from './more-faults.ts';
import { moreUserKinds } from './more-users.ts';
import { rareKinds } from './rare.ts';
import { reporterKinds, reporterKindsOf } from './reporters.ts';
import { snapshotKinds } from './snapshots.ts';
import { userKinds } from './users.ts';
import { volumeKinds } from './volumes.ts';

export type { HappeningKind } from './kind.ts';

const common: Readonly<Record<string, HappeningKind>> = {
  ...userKinds,
  ...adminKinds,
  ...faultKinds,
  ...moreUserKinds,
  ...moreFaultKinds,
  ...attachmentKinds,
  ...contentKinds,
  ...snapshotKinds,
  ...growthKinds,
  ...volumeKinds,
  ...rareKinds,
};

type NamedKind = HappeningKind & { readonly name: string };

/** Of stories with any programs. */
export const kinds: readonly NamedKind[] = namesAdded(common);

/** Of stories with programs that only report. */
export function kindsOfReporters(shape: Shape): readonly NamedKind[] {
  return namesAdded(reporterKindsOf(shape));
}

function namesAdded(of: Kinds): readonly NamedKind[] {
  return Object.entries(of).map(([name, kind]) => ({ name, ...kind }));
}

export function kindOf(name: string): HappeningKind {
  const found = common[name] ?? reporterKinds[name];
  if (found === undefined) throw new Error(`unknown happening ${name}`);
  return found;
}
