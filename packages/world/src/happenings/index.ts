// SPDX-License-Identifier: Apache-2.0
import { adminKinds } from './admins.ts';
import { attachmentKinds } from './attachments.ts';
import { contentKinds } from './contents.ts';
import { faultKinds } from './faults.ts';
import { growthKinds } from './growth.ts';
import type { HappeningKind } from './kind.ts';
import { moreFaultKinds } from './more-faults.ts';
import { moreUserKinds } from './more-users.ts';
import { rareKinds } from './rare.ts';
import { snapshotKinds } from './snapshots.ts';
import { userKinds } from './users.ts';
import { volumeKinds } from './volumes.ts';

export type { HappeningKind } from './kind.ts';

const byName: Readonly<Record<string, HappeningKind>> = {
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

export const kinds: readonly (HappeningKind & { readonly name: string })[] = Object.entries(byName).map(
  ([name, kind]) => ({ name, ...kind }),
);

export function kindOf(name: string): HappeningKind {
  const found = byName[name];
  if (found === undefined) throw new Error(`unknown happening ${name}`);
  return found;
}
