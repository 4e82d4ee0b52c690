"""Data that cannot be learned get the sentence that the command gives; foreign text stays text."""

from __future__ import annotations

import re

import pytest
from steps import choose, give, turn

from sefr.files import open_dataset
from sefr.files.learning import learn

GOOD = "a,b,kind\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n"
BROKEN = {
    "empty": "",
    "blank": "\n\n  \n",
    "names only": "a,b,kind\n",
    "short row": "a,b,kind\n1,2,x\n3,y\n",
    "long row": "a,b,kind\n1,2,x\n3,4,y,z\n",
    "no name": "a,,kind\n1,2,x\n",
    "same name": "a,a,kind\n1,2,x\n",
    "open quote": 'a,b,kind\n1,2,x\n3,4,"y\n',
    "text": "a,colour,kind\n" + "1,red,x\n2,blue,y\n" * 2,
    "two texts": "a,colour,shape,kind\n" + "1,red,round,x\n2,blue,square,y\n" * 2,
    "dates": "a,day,kind\n" + "1,2020-01-01,x\n2,2020-01-02,y\n" * 2,
    "late text": "a,b,kind\n" + "1,2,x\n3,4,y\n" * 60_000 + "5,six,x\n",
    "infinite": "a,b,kind\n1,2,x\n3,inf,y\n",
    "one class": "a,b,kind\n1,2,x\n3,4,x\n",
    "too many classes": "a,b,kind\n" + "".join(f"{i},1,n{i}\n" for i in range(30)),
    "only the label": "kind\nx\ny\n",
    "blank lines": "a,b,kind\n\n1,2,x\n\n3,oops,y\n" + "1,2,x\n3,4,y\n",
}


# The command's options, which the page does not have.
WITHOUT = re.compile(r" with (?:--drop '[^']*' or )?--drop-text| with --categories '[^']*'")


def sentence(path, label="kind"):
    """Return what the command says of a file."""
    try:
        table = open_dataset([str(path)], reread=True)
        learn(table, table.recipe(table.label_name(label)))
    except ValueError as error:
        return WITHOUT.sub("", str(error))
    raise AssertionError("the command takes this file")


def kept(text):
    return text.encode("utf-8", "surrogateescape")


@pytest.mark.slow
def test_broken_files_get_the_sentences_of_the_command(page, tmp_path):
    said, expected = {}, {}
    for name, text in BROKEN.items():
        path = tmp_path / "data.csv"
        path.write_bytes(kept(text))
        expected[name] = sentence(path).replace(f"{tmp_path}/", "")
        refusal = give(page, path)
        if refusal is None:  # columns of text are categories until numbers are asked for
            for select in page.locator("td select").all():
                select.select_option("number")
            refusal = page.wait_for_selector("#data .refusal").inner_text()
        said[name] = refusal
    assert said == expected


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfea\x00,\x00", b"a,b,kind\n1,\x002,x\n"],
    ids=["UTF-16", "NUL"],
)
def test_bytes_that_are_no_text_get_the_sentences_of_the_command(page, tmp_path, content):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    assert give(page, path) == sentence(path).replace(f"{tmp_path}/", "")


def test_a_refused_file_can_be_followed_by_a_good_one(page, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2,3\n")
    assert "expected 2 columns, found 3" in give(page, path)
    assert page.locator("#train").is_hidden()
    path.write_text(GOOD)
    assert give(page, path) is None
    assert page.locator("#data .refusal").count() == 0


HOSTILE = '<img src=x onerror="document.title=1">'


def test_hostile_names_stay_text(page, tmp_path):
    head = f'{HOSTILE.replace(chr(34), "")},"=cmd|calc\u202e",<script>document.title=1</script>'
    rows = "".join(f"{i},{i % 3},<svg onload=document.title=1>{'ab'[i % 2]}\n" for i in range(12))
    path = tmp_path / "<b>x<b>.csv"
    path.write_text(f"{head}\n{rows}", encoding="utf-8")
    assert give(page, path) is None
    page.wait_for_selector("#figure-accuracy")
    assert page.title() == "SEFR Studio"
    assert page.locator("img, b, svg, main script").count() == 0
    assert "\\u202e" in page.inner_text("#data table")
    assert "<svg onload" in page.inner_text("#classes")
    turn(page, bins=8)
    assert page.title() == "SEFR Studio"
    assert page.locator("img, b, main script, [onload], [onerror]").count() == 0
    assert "<svg onload" in page.locator("#curves svg").first.get_attribute("aria-label")


def test_the_policy_forbids_scripts_and_requests(open_page):
    page = open_page()
    choose(page, "flowers")
    policy = page.get_attribute("meta[http-equiv=Content-Security-Policy]", "content")
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "'unsafe-eval'" not in policy
    assert "connect-src" not in policy  # so that default-src holds
    blocked = page.evaluate(
        """async () => {
          const seen = [];
          const note = (event) => seen.push(event.effectiveDirective);
          document.addEventListener('securitypolicyviolation', note);
          try { await fetch('https://example.com/'); seen.push('fetch ran'); } catch {}
          const script = document.createElement('script');
          script.textContent = 'document.title = "ran"';
          document.body.append(script);
          await new Promise((resume) => setTimeout(resume, 200));
          try { eval('1'); seen.push('eval ran'); } catch {}
          return [document.title, seen];
        }"""
    )
    assert blocked[0] == "SEFR Studio"
    assert {"script-src", "connect-src"} <= {name.removesuffix("-elem") for name in blocked[1]}
    assert not {"eval ran", "fetch ran"} & set(blocked[1])
    page.faults.clear()  # what the browser said of these three
