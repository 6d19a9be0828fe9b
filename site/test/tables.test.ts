import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMarkdownRenderer } from 'vitepress';
import { wrappingTables } from '../.vitepress/tables.ts';

const md = await createMarkdownRenderer('.', { config: wrappingTables });

describe('tables on the site', () => {
  it('lets names in cells wrap after punctuation, but not numbers, tags, or entities', () => {
    const html = md.render('| Name | Range |\n| --- | --: |\n| `MAX_FILE_BYTES` | [`a.b&c`](#x_y) 99.9 |');
    assert.match(html, /<td data-label="Name"><code>MAX_<wbr>FILE_<wbr>BYTES<\/code><\/td>/);
    assert.match(
      html,
      /<td class="align-right" data-label="Range"><a href="#x_y"><code>a\.<wbr>b&amp;c<\/code><\/a> 99\.9<\/td>/,
    );
  });

  it('marks only tables with four columns or more as cards for phones', () => {
    const header = (columns: number) => `|${' a |'.repeat(columns)}\n|${' - |'.repeat(columns)}`;
    assert.match(md.render(header(4)), /^<table class="many-columns" tabindex="0">/);
    assert.match(md.render(header(3)), /^<table tabindex="0">/);
  });

  it('adds no breaks outside tables', () => {
    assert.equal(md.render('`MAX_FILE_BYTES`'), '<p><code>MAX_FILE_BYTES</code></p>\n');
  });
});
