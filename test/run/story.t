# make demo-story: what its pictures are to tell is in the files.

NAME demo-story: the hot function and its group, who waits where, when another function ran, what the new release made slower
RUN {top}/scripts/demo-story.sh {build} {tmp}/story 8 && python3 {top}/test/run/story.py {tmp}/story
LONG
FEW it samples
TIMEOUT 120
EXPECT_LINE hot: resize_image in {'thumbs'} in the page: True True
EXPECT_LINE waits: write_audit of {'shop'} True in the page: True
EXPECT_LINE burst: True slots where it was and nothing else: True its samples: True
EXPECT_LINE slower: ['apply_discounts'] in the page: True
EXPECT Answers: resize_image, of thumbs; shop, in write_audit; rebuild_index, from
