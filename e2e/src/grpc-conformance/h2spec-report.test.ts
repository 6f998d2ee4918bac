// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { differences, listedCases, readH2spec } from './h2spec-report.ts';

const report = `<testsuite name="x">
    <testcase package="generic/1" classname="Sends a &#34;preface&#34;" time="0.1"></testcase>
    <testcase package="http2/5.1.2" classname="Exceeds &lt;limit&gt;" time="0.1">
      <failure>Expected: RST_STREAM</failure>
    </testcase>
    <testcase package="http2/6.9.1" classname="Sets a window" time="0.1">
      <skipped></skipped>
    </testcase>
</testsuite>`;

it('given a report, then cases that failed or were skipped are named, the others are counted', () => {
  expect(readH2spec(report)).toEqual({
    passed: 1,
    notPassed: ['http2/5.1.2: Exceeds <limit>', 'http2/6.9.1: Sets a window'],
  });
});

it('given a page, then its rows are cases, and a difference in either direction is reported', () => {
  const page =
    '| Section | Case | Why |\n|---|---|---|\n| http2/5.1.2 | Exceeds <limit> | it ends |\n| hpack/2.3 | Old | none |\n';
  expect(listedCases(page)).toEqual(['http2/5.1.2: Exceeds <limit>', 'hpack/2.3: Old']);
  expect(differences(readH2spec(report).notPassed, listedCases(page))).toEqual([
    'not passed and not listed: http2/6.9.1: Sets a window',
    'listed, but it passes: hpack/2.3: Old',
  ]);
});
